use super::*;

const GOOD: &str = "\
id: clock
title: The floor
question: What does the runner take?
invalid: [ another program takes the processor ]
parts:
  - id: empty
    workload: clock
    parameters: { readings: 100 }
    repetitions: 5
    quick: { repetitions: 2, parameters: { readings: 10 } }
    bound: 10
    metrics: [clock, late]
answer: \"A look at the clock takes {median empty/clock}.\"
";

#[test]
fn an_experiment_is_read_with_its_defaults() {
    let experiment = Experiment::parse(GOOD, Path::new("experiment.yaml")).unwrap();
    let part = &experiment.parts[0];
    assert_eq!(part.parameters.count("readings").unwrap(), 100);
    assert_eq!(part.parameters.count("sleeps").unwrap(), 5);
    assert_eq!(part.quick.parameters.count("readings").unwrap(), 10);
    assert_eq!(part.combinations, [Levels::default()]);
    assert_eq!((part.warm_up, part.bound), (1, Duration::from_secs(10)));
    assert_eq!(experiment.digest.len(), 64);
}
