//! The command `mpiexec`.

use verbena_launch::{cli, supervise};

fn main() {
    let code = match cli::read(std::env::args_os().skip(1).collect()) {
        Ok(order) => supervise::run(order),
        Err(stop) => {
            stop.print();
            stop.code
        }
    };
    std::process::exit(code);
}
