//! IKEv2: transforms, authentication methods and the hash algorithms of RFC 7427.

mod authentication;
mod transform;

pub use authentication::{
    AUTHENTICATION_METHODS, AuthenticationMethod, HASH_ALGORITHMS, HashAlgorithm, authentication_method, hash_algorithm,
};
pub use transform::{TRANSFORMS, Transform, TransformKind, transform, transform_named};
