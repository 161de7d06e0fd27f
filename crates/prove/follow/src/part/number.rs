//! Which part of how many.

/// The K-th of N parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number {
    /// From 1.
    pub part: u32,
    /// Number of parts.
    pub parts: u32,
}

/// Most parts.
const MOST: u32 = 1_000_000;
/// Environment variable with the number of a pod of a Kubernetes Indexed Job, from 0.
const INDEX: &str = "JOB_COMPLETION_INDEX";

impl Number {
    /// `3/8`, or `job/8` for the part that a pod of an Indexed Job has.
    pub fn parse(text: &str) -> Result<Self, String> {
        Self::read(text, || std::env::var(INDEX).ok())
    }

    fn read(text: &str, index: impl FnOnce() -> Option<String>) -> Result<Self, String> {
        let (part, parts) = text
            .split_once('/')
            .ok_or("it is a part and the number of parts, as 3/8")?;
        let parts = parts
            .parse()
            .ok()
            .filter(|parts| (1..=MOST).contains(parts))
            .ok_or_else(|| format!("there are 1 to {MOST} parts"))?;
        let part = match part {
            "job" => {
                let index =
                    index().ok_or_else(|| format!("{INDEX} is not set: `job` is for pods of an Indexed Job"))?;
                index.parse::<u32>().ok().and_then(|index| index.checked_add(1))
            }
            number => number.parse().ok(),
        };
        match part {
            Some(part) if (1..=parts).contains(&part) => Ok(Self { part, parts }),
            _ => Err(format!("of {parts} parts the first is 1 and the last {parts}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Number;

    #[test]
    fn a_part_is_a_number_from_one_or_that_of_a_pod_from_zero() {
        let read = |text: &str, index: Option<&str>| Number::read(text, || index.map(str::to_owned));
        assert_eq!(read("3/8", None), Ok(Number { part: 3, parts: 8 }));
        assert_eq!(read("job/8", Some("7")), Ok(Number { part: 8, parts: 8 }));
        for text in [
            "",
            "3",
            "0/8",
            "9/8",
            "3/0",
            "3/1000001",
            "a/8",
            "3/b",
            "-1/8",
            "3/8/9",
            "job/8",
        ] {
            assert!(read(text, None).is_err(), "{text}");
        }
        assert!(read("job/8", Some("8")).is_err());
        assert!(read("job/8", Some("x")).is_err());
    }
}
