//! Growth of processor time with the objects that a user counts: at most by an exponent of 1.5 from a quarter of
//! them to all. Linear work has 1, all pairs have 2. Times are those of the program alone, by wait4(2): load of the
//! machine changes them little, and only their ratio counts.

mod growth {
    pub(crate) mod capture;
    pub(crate) mod stage;

    mod deployment;
    mod reading;
}
