//! A table of values that are measured job by job: a column for each variant, a row for each thing.

use serde_json::{Value, json};
use verbena_lab::report::Job;
use verbena_lab::timing::median;
use verbena_lab::witness::Witness;

/// The table.
pub(super) struct JobTable {
    title: String,
    /// The meaning of the rows.
    rows_are: String,
    /// The ranks of a job; 0 where there are none.
    ranks: usize,
    columns: Vec<String>,
    rows: Vec<Row>,
}

struct Row {
    name: String,
    /// The jobs of each column; columns that came later may lack.
    jobs: Vec<Vec<Job>>,
}

impl JobTable {
    /// An empty one.
    pub(super) fn new(title: &str, rows_are: &str) -> JobTable {
        let (title, rows_are) = (title.into(), rows_are.into());
        JobTable { title, rows_are, ranks: 0, columns: Vec::new(), rows: Vec::new() }
    }

    /// Returns the table for jobs of so many ranks.
    pub(super) fn of_ranks(self, ranks: usize) -> JobTable {
        JobTable { ranks, ..self }
    }

    /// Adds the value of one job.
    pub(super) fn add(&mut self, row: &str, column: &str, value: f64) {
        self.add_seen(row, column, value, None);
    }

    /// Adds the value of one job, with its circumstances.
    pub(super) fn add_seen(&mut self, row: &str, column: &str, value: f64, witness: Option<Witness>) {
        let column = position(&mut self.columns, |name| name == column, || column.into());
        let row =
            position(&mut self.rows, |each| each.name == row, || Row { name: row.into(), jobs: Vec::new() });
        let jobs = &mut self.rows[row].jobs;
        jobs.resize_with(jobs.len().max(column + 1), Vec::new);
        jobs[column].push(Job { value, witness });
    }

    /// Returns the table as an experiment of a result file.
    pub(super) fn json(&self, experiment: &str, metric: &str, unit: &str, machine: &str) -> Value {
        let columns: Vec<&String> = std::iter::once(&self.rows_are).chain(&self.columns).collect();
        let rows: Vec<Value> = self.rows.iter().map(|row| self.of_row(row)).collect();
        json!({"experiment": experiment, "title": self.title, "metric": metric, "unit": unit,
               "ranks": self.ranks, "columns": columns, "rows": rows, "machine": machine})
    }

    fn of_row(&self, row: &Row) -> Value {
        let jobs = |at: usize| row.jobs.get(at).map_or(&[][..], Vec::as_slice);
        let middle = |at: usize| median(&jobs(at).iter().map(|job| job.value).collect::<Vec<_>>());
        let values: Vec<Option<f64>> = (0..self.columns.len()).map(middle).collect();
        let all: Vec<&[Job]> = (0..self.columns.len()).map(jobs).collect();
        json!({"name": row.name, "values": values, "jobs": all})
    }
}

/// The place of the first that fits; if there is none, a new one's at the end.
fn position<T>(all: &mut Vec<T>, fits: impl Fn(&T) -> bool, new: impl FnOnce() -> T) -> usize {
    all.iter().position(fits).unwrap_or_else(|| {
        all.push(new());
        all.len() - 1
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::results::Results;

    #[test]
    fn what_is_written_is_read_job_by_job() {
        let mut table = JobTable::new("t", "part");
        [(30.0, "a"), (31.0, "a"), (40.0, "b")]
            .iter()
            .for_each(|(value, name)| table.add("total", name, *value));
        let counted = [("sends".to_string(), 3.0)].into();
        let witness = Witness { processors: 2, counted, ..Witness::default() };
        table.add_seen("receiver", "b", 5.0, Some(witness.clone()));
        let document = json!({"command": "verbena-papers report",
            "experiments": [table.json("rc trace", "time", "us", "m")]});
        let mut results = Results::default();
        results.add(&document);
        let jobs = |series: usize, point: usize| -> Vec<f64> {
            results.series[series].points[point].jobs.iter().map(|job| job.value).collect()
        };
        assert_eq!((jobs(0, 0), jobs(1, 0)), (vec![30.0, 31.0], vec![40.0]));
        assert_eq!((jobs(0, 1), jobs(1, 1)), (vec![], vec![5.0]));
        assert_eq!(results.series[1].points[1].jobs[0].witness, Some(witness));
        assert_eq!(results.series[0].points[0].value, Some(30.5));
        assert_eq!(results.series[0].points[1].value, None);
    }
}
