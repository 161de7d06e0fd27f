//! The redirect of the SBI beside an IPsec link between the same hosts.
