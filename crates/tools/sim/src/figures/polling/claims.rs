//! Paper 3's statements on its figures 2 and 3, computed from the model in each manner, whichever
//! way it comes out; and the rates that the default is chosen by.

use super::{BURSTS, Manner, Polling, RATIOS, Table, UPDATES, discovery_ns, latencies, static_of};

/// The rate at which the paper sees neither overhead nor wrong predictions (3.3.2).
const GOOD: u32 = 10;

/// The statements of section 3.3, with what the paper says and what the model gives in each manner.
///
/// # Errors
/// What hung.
pub fn claims() -> Result<Table, String> {
    let title = "The statements of paper 3, section 3.3, by the model";
    let names = Manner::ALL.map(|(name, _)| name);
    let mut table = Table::new(title, ["statement", "the paper"].into_iter().chain(names));
    let columns: Vec<Vec<f64>> =
        Manner::ALL.into_iter().map(|(_, manner)| statements(manner)).collect::<Result<_, _>>()?;
    for (at, (name, paper)) in STATEMENTS.into_iter().enumerate() {
        let values = columns.iter().map(|column| column[at]);
        table.add(name, std::iter::once(paper).chain(values).collect());
    }
    Ok(table)
}

/// The statements with the paper's numbers. Where it gives none, 1 stands for "as much as".
const STATEMENTS: [(&str, f64); 9] = [
    ("within the node at 1000:1, less by %", 37.0),
    ("over the network at 50:1, more by % (hardly)", 0.0),
    ("bursts of 100: best rate against 1:1, less by %", 37.0),
    ("bursts of 200: best rate against 1:1, less by %", 45.0),
    ("bursts of 100: the best rate", 10.0),
    ("bursts of 200: the best rate", 10.0),
    ("bursts of 200: rate 1 to rate 10 (above 1)", 1.0),
    ("bursts of 100: rate 100 to rate 10 (a spike)", 1.0),
    ("bursts of 200: rate 200 to rate 10 (a spike)", 1.0),
];

/// The values of [`STATEMENTS`].
fn statements(manner: Manner) -> Result<Vec<f64>, String> {
    let less = |now: f64, then: f64| (1.0 - now / then) * 100.0;
    let fixed = |ratio| latencies(static_of(ratio), manner);
    let (first, most) = (fixed(1)?, fixed(RATIOS[RATIOS.len() - 1])?);
    let [short, long] = BURSTS.map(|burst| by_rate(burst, manner));
    let [short, long] = [short?, long?];
    let all = BURSTS.map(|burst| discovery_ns(Polling::ALL, burst, manner));
    let [short_all, long_all] = all;
    Ok(vec![
        less(most[0], first[0]),
        -less(fixed(50)?[1], first[1]),
        less(best(&short).1, short_all?),
        less(best(&long).1, long_all?),
        f64::from(best(&short).0),
        f64::from(best(&long).0),
        at(&long, 1) / at(&long, GOOD),
        at(&short, 100) / at(&short, GOOD),
        at(&long, 200) / at(&long, GOOD),
    ])
}

/// Discovery by the update rate.
fn by_rate(burst: u32, manner: Manner) -> Result<Vec<(u32, f64)>, String> {
    let of = |update_every| {
        let polling = Polling { update_every, ..Polling::AUTO };
        Ok((update_every, discovery_ns(polling, burst, manner)?))
    };
    UPDATES.into_iter().map(of).collect()
}

/// The rate with the quickest discovery; of equals the seldomest.
fn best(rates: &[(u32, f64)]) -> (u32, f64) {
    rates.iter().rev().copied().min_by(|one, other| one.1.total_cmp(&other.1)).expect("rates")
}

fn at(rates: &[(u32, f64)], rate: u32) -> f64 {
    rates.iter().find(|(its, _)| *its == rate).expect("a rate of the figure").1
}

/// The costs of a calculation for which [`good_rates`] looks, in nanoseconds.
const PRICES_NS: [u64; 6] = [0, 50, 100, 200, 500, 1000];

/// The best update rate by the price of a calculation, which the paper does not give: bursts of
/// 200, from any source, where each update calculates and where only a change does.
///
/// # Errors
/// What hung.
pub fn good_rates() -> Result<Table, String> {
    let title = "The best update rate by the price of a calculation, bursts of 200 (paper 3: 8 or 10)";
    let columns = ["price, ns", "each update", "rate 10, ns", "only changes", "rate 10, ns "];
    let mut table = Table::new(title, columns);
    for price in PRICES_NS {
        let each = by_rate(200, Manner { update_ns: price, ..Manner::PAPER })?;
        let changes = by_rate(200, Manner { calculation_ns: price, ..Manner::ANY })?;
        let of = |rates: &[(u32, f64)]| [f64::from(best(rates).0), at(rates, GOOD)];
        table.add(price.to_string(), [of(&each), of(&changes)].concat());
    }
    Ok(table)
}
