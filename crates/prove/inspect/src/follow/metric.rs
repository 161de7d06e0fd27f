//! Numbers of what is followed, in a form that is neither Prometheus' nor OTLP's: both are written
//! from it, so that they cannot differ.

/// Prefix of every name, as Prometheus and OTLP have it.
pub const PREFIX: &str = "bartizan_inspect";

/// Kind of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It only grows, since the process began.
    Sum,
    /// It is what it is now.
    Gauge,
}

/// A value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// A count, or bytes.
    Whole(u64),
    /// Seconds.
    Real(f64),
}

/// One value with its labels, in the order in which they are written.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Name and value of each.
    pub labels: Vec<(&'static str, String)>,
    /// Its value.
    pub number: Number,
}

bartizan_registry::made! {
    /// A metric with all its values.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Metric, new(name: &'static str, help: &'static str, kind: Kind) {
        /// Without [`PREFIX`], and without the `_total` of Prometheus.
        pub name: &'static str = name,
        /// One sentence without its full stop.
        pub help: &'static str = help,
        /// Its kind.
        pub kind: Kind = kind,
        /// None of what was never seen.
        pub points: Vec<Point> = Vec::new(),
    }
}

impl Metric {
    /// One that only grows, without values yet.
    pub fn sum(name: &'static str, help: &'static str) -> Self {
        Self::new(name, help, Kind::Sum)
    }

    /// One that goes up and down, without values yet.
    pub fn gauge(name: &'static str, help: &'static str) -> Self {
        Self::new(name, help, Kind::Gauge)
    }

    /// Adds a count with these labels.
    pub fn count(&mut self, labels: &[(&'static str, &str)], count: u64) {
        self.push(labels, Number::Whole(count));
    }

    /// Adds a real number with these labels.
    pub fn real(&mut self, labels: &[(&'static str, &str)], real: f64) {
        self.push(labels, Number::Real(real));
    }

    fn push(&mut self, labels: &[(&'static str, &str)], number: Number) {
        let labels = labels.iter().map(|&(name, value)| (name, value.to_owned())).collect();
        self.points.push(Point { labels, number });
    }
}
