//! strongSwan at the other end, in both roles: what it says of the IKE_SA and the CHILD_SAs.

pub(crate) mod as_root {
    // A test runs itself again in a kernel that has ESP.
    mod kernel;
    mod life;
    mod set_up;
    pub(crate) mod stage;
}
