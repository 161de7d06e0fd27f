//! Which listener of which peer a connection or a request is for.

pub(crate) mod authority;
pub(crate) mod peers;
pub(crate) mod routes;
