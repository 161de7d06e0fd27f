//! Handshakes of two endpoints in memory, with certificates of a CA that is not ours.

mod again;
mod authority;
mod certificates;
mod credentials;
mod links;
mod observation;
mod own_files;
mod probing;
mod profiles;
mod quic;
mod refusals;
mod remembered;
mod resumption;
mod wire;
