//! A part of an experiment, as it is shown.

use bartizan_workbench::runner::experiment;

use super::{Comparison, Control, Figure, PublishedValues, Samples, Table, figures};

/// A part with what came out.
#[derive(Debug, Clone)]
pub struct Part {
    /// Its name.
    pub id: String,
    /// Its question, if it is less than the whole.
    pub question: Option<String>,
    /// Description of its workload.
    pub workload: String,
    /// Parameters of the workload, as `transactions: 100`.
    pub parameters: Vec<String>,
    /// Intended repetitions of each combination.
    pub repetitions: usize,
    /// Plots of the part.
    pub figures: Vec<Figure>,
    /// Comparisons of the part.
    pub comparisons: Vec<Comparison>,
    /// Apparent differences between identical twins.
    pub controls: Vec<Control>,
    /// A table for each metric.
    pub tables: Vec<Table>,
}

impl Part {
    pub(crate) fn of(part: &experiment::Part, samples: &Samples) -> Self {
        let tables: Vec<Table> = part
            .metrics
            .iter()
            .map(|metric| Table::of(part, metric, samples))
            .collect();
        let controls = Control::of(part, samples);
        Self {
            id: part.id.clone(),
            question: part.question.clone(),
            workload: part.workload.about.to_owned(),
            parameters: part
                .parameters
                .iter()
                .map(|(name, value)| format!("{name}: {value}"))
                .collect(),
            repetitions: part.repetitions,
            figures: Vec::new(),
            comparisons: Comparison::of(part, samples, &controls),
            controls,
            tables,
        }
    }

    /// Draws its plots, published values marked in them.
    pub(crate) fn draw(&mut self, part: &experiment::Part, samples: &Samples, published: Option<&PublishedValues>) {
        self.figures = part
            .plots
            .iter()
            .filter_map(|plot| figures::of(part, plot, &self.tables, samples, published))
            .collect();
    }

    /// The table of this metric.
    #[must_use]
    pub fn table(&self, metric: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.metric.name == metric)
    }
}
