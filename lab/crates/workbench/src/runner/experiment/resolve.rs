//! From the raw shape of an experiment's file to one in which every name means something.

mod picture;
mod sentence;

use data_encoding::HEXLOWER;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use serde_json::Value;
use serde_saphyr::Spanned;

use crate::runner::experiment::raw::{RawComparison, RawExperiment, RawFactor, RawLevels, RawParameters, RawPart};
use crate::runner::experiment::{
    Comparison, Experiment, ExperimentError, Factor, Fault, Form, Levels, Parameters, Part, Place, Quick, read,
};
use crate::workload::{Default as Given, KINDS, Kind, MetricKind};

/// The part in which a run records what the runner itself takes; no experiment may have one of this name.
pub(crate) const RUNNER: &str = "runner";

/// Upper limit of repetitions. No real experiment needs more; a mistyped number must not start.
const MOST_REPETITIONS: usize = 100_000;
const MOST_COMBINATIONS: usize = 10_000;
/// An hour.
const LONGEST_BOUND: f64 = 3600.0;

pub(super) fn experiment(text: &str, file: &Path) -> Result<Experiment, ExperimentError> {
    let raw: RawExperiment = read(text, file)?;
    resolve(raw, text).map_err(|fault| fault.in_file(file, text))
}

fn resolve(raw: RawExperiment, text: &str) -> Result<Experiment, Fault> {
    let mut parts: Vec<Part> = Vec::new();
    if raw.parts.value.is_empty() {
        return Err(Fault::new(
            Place::of(&raw.parts),
            "an experiment without parts",
            "a part says what is done",
        ));
    }
    for raw in &raw.parts.value {
        if parts.iter().any(|part| part.id == raw.id.value) {
            return Err(twice(&raw.id, "part"));
        }
        parts.push(part(raw)?);
    }
    picture::limits(&raw.parts.value, &mut parts)?;
    let answer = raw
        .answer
        .as_ref()
        .map(|template| sentence::answer(template, &parts))
        .transpose()?;
    Ok(Experiment {
        id: identifier(&raw.id)?,
        title: raw.title,
        question: raw.question,
        source: raw.source,
        invalid: raw.invalid,
        answer,
        parts,
        digest: HEXLOWER.encode(digest(&SHA256, text.as_bytes()).as_ref()),
        earlier: Vec::new(),
    })
}

fn part(raw: &RawPart) -> Result<Part, Fault> {
    if raw.id.value == RUNNER {
        let hint = "a run records in it what the runner itself takes: choose another name";
        return Err(Fault::new(
            Place::of(&raw.id),
            format!("a part cannot be called `{RUNNER}`"),
            hint,
        ));
    }
    let workload = Kind::named(&raw.workload.value)
        .ok_or_else(|| unknown(&raw.workload, "workload", KINDS.iter().map(|kind| kind.name)))?;
    let factors = factors(&raw.factors, workload)?;
    let levels = |raw: &RawLevels| levels(raw, &factors);
    let except = raw
        .except
        .iter()
        .map(|except| Ok((Place::of(except), levels(&except.value)?)));
    let except = except.collect::<Result<Vec<_>, Fault>>()?;
    let combinations = combinations(raw, &factors, &except)?;
    let controls = controls(raw, &factors, &combinations)?;
    let parameters = parameters(&raw.parameters, workload, None)?;
    let part = Part {
        id: identifier(&raw.id)?,
        question: raw.question.clone(),
        workload,
        quick: Quick {
            repetitions: repetitions(&raw.quick.repetitions)?,
            parameters: self::parameters(&raw.quick.parameters, workload, Some(&parameters))?,
        },
        parameters,
        repetitions: repetitions(&raw.repetitions)?,
        warm_up: raw.warm_up.unwrap_or(1),
        bound: bound(&raw.bound)?,
        metrics: metrics(raw, workload)?,
        floor: raw.floor.as_ref().map(|floor| levels(&floor.value)).transpose()?,
        factors,
        combinations,
        controls,
        comparisons: Vec::new(),
        plots: Vec::new(),
    };
    if let (Some(floor), Some(raw)) = (&part.floor, &raw.floor)
        && part.matching(floor).next().is_none()
    {
        return Err(nothing_has(Place::of(raw), floor));
    }
    let mut comparisons: Vec<Comparison> = Vec::new();
    for raw in &raw.comparisons {
        if comparisons.iter().any(|comparison| comparison.id == raw.id.value) {
            return Err(twice(&raw.id, "comparison"));
        }
        comparisons.push(comparison(raw, &part)?);
    }
    let plots = raw.plots.iter().map(|plot| picture::plot(plot, &part));
    Ok(Part {
        plots: plots.collect::<Result<_, _>>()?,
        comparisons,
        ..part
    })
}

fn factors(raw: &[RawFactor], workload: &Kind) -> Result<Vec<Factor>, Fault> {
    let mut factors: Vec<Factor> = Vec::new();
    for RawFactor { name, levels } in raw {
        let kind = workload.factor(&name.value).ok_or_else(|| {
            let known = workload.factors.iter().map(|factor| factor.name);
            unknown(name, &format!("factor of {}", workload.name), known)
        })?;
        if factors.iter().any(|factor| factor.name == name.value) {
            return Err(twice(name, "factor"));
        }
        if levels.is_empty() {
            let hint = "name the levels that are run";
            return Err(Fault::new(Place::of(name), "a factor without levels", hint));
        }
        let mut seen = BTreeSet::new();
        for level in levels {
            if !kind.knows(&level.value) {
                return Err(if kind.levels.is_empty() {
                    let cause = format!("level `{}` of {} is no number", level.value, kind.name);
                    Fault::new(Place::of(level), cause, "every number is a level of this factor")
                } else {
                    unknown(level, &format!("level of {}", kind.name), kind.levels.iter().copied())
                });
            }
            if !seen.insert(&level.value) {
                return Err(twice(level, "level"));
            }
        }
        factors.push(Factor {
            name: name.value.clone(),
            levels: levels.iter().map(|level| level.value.clone()).collect(),
        });
    }
    Ok(factors)
}

fn combinations(raw: &RawPart, factors: &[Factor], except: &[(Place, Levels)]) -> Result<Vec<Levels>, Fault> {
    let mut combinations = vec![Levels::default()];
    for factor in factors {
        if combinations.len() * factor.levels.len() > MOST_COMBINATIONS {
            let cause = format!("more than {MOST_COMBINATIONS} combinations of levels");
            return Err(Fault::new(Place::of(&raw.id), cause, "split the part"));
        }
        combinations = combinations
            .iter()
            .flat_map(|levels| {
                factor
                    .levels
                    .iter()
                    .map(|level| levels.clone().with(&factor.name, level))
            })
            .collect();
    }
    for (place, left_out) in except {
        let before = combinations.len();
        combinations.retain(|combination| !combination.matches(left_out));
        if combinations.len() == before {
            return Err(Fault::new(
                *place,
                format!("nothing is left out by {left_out}"),
                "remove it, or the exception before it that already leaves this out",
            ));
        }
    }
    if combinations.is_empty() {
        let hint = "leave out less";
        return Err(Fault::new(
            Place::of(&raw.id),
            "every combination is left out by `except`",
            hint,
        ));
    }
    Ok(combinations)
}

/// The combinations that have twins: each named by levels that one combination alone has.
fn controls(raw: &RawPart, factors: &[Factor], combinations: &[Levels]) -> Result<Vec<Levels>, Fault> {
    let mut controls: Vec<Levels> = Vec::new();
    for raw in &raw.controls {
        let wanted = levels(&raw.value, factors)?;
        let place = Place::of(raw);
        let mut matching = combinations.iter().filter(|combination| combination.matches(&wanted));
        let found = matching.next().ok_or_else(|| nothing_has(place, &wanted))?;
        if matching.next().is_some() {
            return Err(Fault::new(
                place,
                format!("several combinations have {wanted}"),
                "a control is one combination, taken twice: name a level of every factor that has several",
            ));
        }
        if controls.contains(found) {
            let hint = "remove one of the two";
            return Err(Fault::new(place, format!("the control {wanted} is there twice"), hint));
        }
        controls.push(found.clone());
    }
    Ok(controls)
}

/// Some levels of a part's factors.
fn levels(raw: &RawLevels, factors: &[Factor]) -> Result<Levels, Fault> {
    let mut levels = Levels::default();
    for (name, level) in raw {
        let factor = factors.iter().find(|factor| factor.name == *name).ok_or_else(|| {
            let known = factors.iter().map(|factor| factor.name.as_str());
            Fault::unknown(Place::of(level), "factor", name, known)
        })?;
        if !factor.levels.contains(&level.value) {
            let known = factor.levels.iter().map(String::as_str);
            return Err(unknown(level, &format!("level of {}", factor.name), known));
        }
        levels = levels.with(name, &level.value);
    }
    Ok(levels)
}

/// Those that are given, over those of `base` or the workload's own.
fn parameters(raw: &RawParameters, workload: &Kind, base: Option<&Parameters>) -> Result<Parameters, Fault> {
    for (name, value) in raw {
        let known = workload.parameters.iter();
        let kind = known.clone().find(|kind| kind.name == name).ok_or_else(|| {
            let what = format!("parameter of {}", workload.name);
            Fault::unknown(Place::of(value), &what, name, known.map(|kind| kind.name))
        })?;
        let (fits, wanted) = match kind.default {
            None | Some(Given::Number(_)) => (value.value.as_f64().is_some_and(|number| number >= 0.0), "a number"),
            Some(Given::Flag(_)) => (value.value.is_boolean(), "true or false"),
            Some(Given::Text(_)) => (value.value.is_string(), "a text"),
        };
        if !fits {
            let cause = format!("parameter {name} is {}, not {wanted}", value.value);
            return Err(Fault::new(Place::of(value), cause, format!("{name}: {}", kind.about)));
        }
    }
    let complete = workload.parameters.iter().map(|kind| {
        let given = raw.get(kind.name).map(|given| given.value.clone());
        let inherited = || base.and_then(|base| base.value(kind.name)).cloned();
        let value = given.or_else(inherited).or_else(|| kind.default.map(Given::value));
        Some((kind.name.to_owned(), value?))
    });
    if let Some(missing) = workload
        .parameters
        .iter()
        .zip(complete.clone())
        .find_map(|(kind, value)| value.is_none().then_some(kind))
    {
        // A missing parameter has no place in the file.
        return Err(Fault::new(
            Place { line: 0, column: 0 },
            format!("{} needs the parameter {}", workload.name, missing.name),
            format!("{}: {}", missing.name, missing.about),
        ));
    }
    Ok(complete
        .flatten()
        .collect::<Vec<(String, Value)>>()
        .into_iter()
        .collect())
}

fn repetitions(raw: &Spanned<usize>) -> Result<usize, Fault> {
    if (1..=MOST_REPETITIONS).contains(&raw.value) {
        return Ok(raw.value);
    }
    let hint = format!("from 1 to {MOST_REPETITIONS}");
    Err(Fault::new(Place::of(raw), format!("{} repetitions", raw.value), hint))
}

fn bound(raw: &Spanned<f64>) -> Result<Duration, Fault> {
    if raw.value > 0.0 && raw.value <= LONGEST_BOUND {
        return Ok(Duration::from_secs_f64(raw.value));
    }
    let hint = format!("seconds a trial may take, at most {LONGEST_BOUND}");
    Err(Fault::new(Place::of(raw), format!("a bound of {} s", raw.value), hint))
}

fn metrics(raw: &RawPart, workload: &'static Kind) -> Result<Vec<&'static MetricKind>, Fault> {
    let mut metrics: Vec<&'static MetricKind> = Vec::new();
    for name in &raw.metrics.value {
        let metric = workload.metric(&name.value).ok_or_else(|| {
            let known = workload.metrics.iter().map(|metric| metric.name);
            unknown(name, &format!("metric of {}", workload.name), known)
        })?;
        if metrics.contains(&metric) {
            return Err(twice(name, "metric"));
        }
        metrics.push(metric);
    }
    if metrics.is_empty() {
        let known: Vec<&str> = workload.metrics.iter().map(|metric| metric.name).collect();
        let hint = format!("{} measures {}", workload.name, known.join(", "));
        return Err(Fault::new(Place::of(&raw.metrics), "a part without metrics", hint));
    }
    Ok(metrics)
}

fn comparison(raw: &RawComparison, part: &Part) -> Result<Comparison, Fault> {
    let form = Form::ALL.into_iter().find(|form| form.name() == raw.form.value);
    let form = form.ok_or_else(|| unknown(&raw.form, "form", Form::ALL.iter().map(|form| form.name())))?;
    let comparison = Comparison {
        id: identifier(&raw.id)?,
        metric: metric(&raw.metric, part)?,
        of: levels(&raw.of.value, &part.factors)?,
        over: levels(&raw.over.value, &part.factors)?,
        form,
    };
    for (side, place) in [(&comparison.of, &raw.of), (&comparison.over, &raw.over)] {
        if part.matching(side).next().is_none() {
            return Err(nothing_has(Place::of(place), side));
        }
    }
    if part.pairs(&comparison.of, &comparison.over).is_empty() {
        return Err(Fault::new(
            Place::of(&raw.over),
            format!(
                "no combination with {} has a partner with {}",
                comparison.of, comparison.over
            ),
            "two combinations are compared that agree in every factor which neither side names",
        ));
    }
    Ok(comparison)
}

/// A metric that the part records.
fn metric(name: &Spanned<String>, part: &Part) -> Result<&'static MetricKind, Fault> {
    let known = part.metrics.iter().map(|metric| metric.name);
    part.metric(&name.value)
        .ok_or_else(|| unknown(name, &format!("metric of part {}", part.id), known))
}

/// A name that can be a folder, and stand in a template.
fn identifier(raw: &Spanned<String>) -> Result<String, Fault> {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    if !raw.value.is_empty() && raw.value.len() <= 64 && raw.value.chars().all(fits) {
        return Ok(raw.value.clone());
    }
    let cause = format!("`{}` cannot be an id", raw.value);
    Err(Fault::new(Place::of(raw), cause, "letters, digits and `-`, at most 64"))
}

fn unknown<'a>(name: &Spanned<String>, what: &str, known: impl Iterator<Item = &'a str> + Clone) -> Fault {
    Fault::unknown(Place::of(name), what, &name.value, known)
}

fn twice(name: &Spanned<String>, what: &str) -> Fault {
    let cause = format!("{what} `{}` is there twice", name.value);
    Fault::new(Place::of(name), cause, "remove one of the two, or give it another name")
}

fn nothing_has(place: Place, levels: &Levels) -> Fault {
    Fault::new(
        place,
        format!("no combination has {levels}"),
        "it is left out by `except`",
    )
}
