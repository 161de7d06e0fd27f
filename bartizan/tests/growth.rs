//! Growth of processor time and memory with the objects that a user counts: at most by an exponent
//! of 1.2. Linear work has 1, all pairs have 2. Time and pages are those of the program alone, by
//! getrusage(2), of the cheapest of several runs. Only their ratio counts.

mod growth {
    pub(crate) mod capture;
    pub(crate) mod stage;

    mod deployment;
    mod reading;
}
