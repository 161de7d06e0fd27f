//! Parameters of a workload beyond its factors.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Error;

/// Values by the parameter's name; those of a parsed experiment are complete, with the workload's
/// defaults, and of the right type.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Parameters(BTreeMap<String, Value>);

impl Parameters {
    /// The value of this parameter.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// Names with their values, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// True if there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes these values instead of those of the same names.
    pub(crate) fn replace(&mut self, others: &Self) {
        let others = others.0.iter().map(|(name, value)| (name.clone(), value.clone()));
        self.0.extend(others);
    }

    /// A parameter that counts something.
    ///
    /// # Errors
    /// [`Error::Configuration`] when it is not there or no whole number.
    pub fn count(&self, name: &str) -> Result<usize, Error> {
        let whole = self.value(name).and_then(Value::as_u64);
        whole
            .and_then(|number| usize::try_from(number).ok())
            .ok_or_else(|| self.unfit(name, "a whole number"))
    }

    /// A parameter that is a number.
    ///
    /// # Errors
    /// [`Error::Configuration`] when it is not there or no number.
    pub fn number(&self, name: &str) -> Result<f64, Error> {
        self.value(name)
            .and_then(Value::as_f64)
            .ok_or_else(|| self.unfit(name, "a number"))
    }

    /// A parameter that is true or false.
    ///
    /// # Errors
    /// [`Error::Configuration`] when it is not there or neither.
    pub fn flag(&self, name: &str) -> Result<bool, Error> {
        self.value(name)
            .and_then(Value::as_bool)
            .ok_or_else(|| self.unfit(name, "true or false"))
    }

    /// A parameter that is a text.
    ///
    /// # Errors
    /// [`Error::Configuration`] when it is not there or no text.
    pub fn text(&self, name: &str) -> Result<&str, Error> {
        self.value(name)
            .and_then(Value::as_str)
            .ok_or_else(|| self.unfit(name, "a text"))
    }

    fn unfit(&self, name: &str, wanted: &str) -> Error {
        let found = self
            .value(name)
            .map_or_else(|| "not given".to_owned(), Value::to_string);
        Error::Configuration(format!("parameter {name} is {found}, not {wanted}"))
    }
}

impl FromIterator<(String, Value)> for Parameters {
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}
