//! Integration tests of `estimators` in one program: `autotests` is off, so each file is named here.

mod against_scipy;
mod properties;
