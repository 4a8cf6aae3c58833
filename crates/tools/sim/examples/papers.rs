//! Prints the figures of papers 1 and 2 by the cost model of their device:
//! `cargo run -p verbena-sim --example papers`.

use verbena_sim::figures::tables;

fn main() -> Result<(), String> {
    for table in tables()? {
        println!("{table}");
    }
    Ok(())
}
