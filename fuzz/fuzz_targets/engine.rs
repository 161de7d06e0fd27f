#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bartizan_fuzz::targets::run("engine", bytes));
