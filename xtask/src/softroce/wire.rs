//! The treatment of packets on the wire between the nodes, as options of `tc netem`.

/// The options about the wire; each holds for what a node sends.
#[derive(clap::Args, Debug, Default)]
pub(super) struct Wire {
    /// Let each wire carry so much at most, as in 100mbit
    #[arg(long, value_name = "RATE", value_parser = rate)]
    rate: Option<String>,
    /// Lose so many of the packets, as in 1%
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    loss: Option<f64>,
    /// Hold each packet back for a time, as in 500us or 2ms
    #[arg(long, value_name = "TIME", value_parser = time)]
    delay: Option<String>,
    /// Let so many of the packets overtake those that are held back, as in 25%
    #[arg(long, value_name = "PERCENT", value_parser = percent, requires = "delay")]
    reorder: Option<f64>,
    /// Send so many of the packets twice, as in 1%
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    duplicate: Option<f64>,
    /// Flip a bit in so many of the packets, as in 1%
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    corrupt: Option<f64>,
}

impl Wire {
    /// The words after `tc qdisc add ... netem`; none for a good wire.
    pub(super) fn netem(&self) -> String {
        let share = |name: &str, value: Option<f64>| value.map(|percent| format!("{name} {percent}%"));
        let words = [
            self.delay.as_ref().map(|time| format!("delay {time}")),
            share("loss", self.loss),
            share("reorder", self.reorder),
            share("duplicate", self.duplicate),
            share("corrupt", self.corrupt),
            self.rate.as_ref().map(|rate| format!("rate {rate}")),
        ];
        words.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}

fn percent(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').parse() {
        Ok(value) if (0.0..=100.0).contains(&value) => Ok(value),
        _ => Err("expected 0% to 100%".into()),
    }
}

fn rate(text: &str) -> Result<String, String> {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit());
    match (text[..text.len() - unit.len()].parse::<u64>(), unit) {
        (Ok(1..), "kbit" | "mbit" | "gbit") => Ok(text.to_owned()),
        _ => Err("expected a number with kbit, mbit or gbit".into()),
    }
}

fn time(text: &str) -> Result<String, String> {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number = &text[..text.len() - unit.len()];
    match (number.parse::<f64>(), unit) {
        (Ok(_), "us" | "ms" | "s") => Ok(text.to_owned()),
        _ => Err("expected a number with us, ms or s".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_netem() {
        assert_eq!(Wire::default().netem(), "");
        let wire = Wire { loss: percent("1%").ok(), delay: time("2ms").ok(), ..Wire::default() };
        assert_eq!(wire.netem(), "delay 2ms loss 1%");
        let wire = Wire { duplicate: percent("5%").ok(), corrupt: percent("0.5").ok(), ..Wire::default() };
        assert_eq!(wire.netem(), "duplicate 5% corrupt 0.5%");
        let wire = Wire { rate: rate("100mbit").ok(), loss: percent("1").ok(), ..Wire::default() };
        assert_eq!(wire.netem(), "loss 1% rate 100mbit");
    }

    #[test]
    fn wrong_words_are_refused() {
        assert!(["", "x", "101%", "-1"].iter().all(|text| percent(text).is_err()));
        assert!(["", "0mbit", "1", "mbit", "1mbit; reboot"].iter().all(|text| rate(text).is_err()));
        assert!(["", "1", "ms", "1h", "1ms; reboot"].iter().all(|text| time(text).is_err()));
    }
}
