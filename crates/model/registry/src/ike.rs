//! IKEv2: transforms, authentication methods and the hash algorithms of RFC 7427; of IKEv1 ciphers and proofs.

mod authentication;
mod esp;
mod transform;
mod v1;

pub use authentication::{
    AUTHENTICATION_METHODS, AuthenticationMethod, HASH_ALGORITHMS, HashAlgorithm, authentication_method,
};
pub use esp::{ESP_ENCRYPTIONS, ESP_INTEGRITIES, EspEncryption, EspIntegrity, esp_encryption, esp_integrity};
pub use transform::{TRANSFORMS, Transform, TransformKind, transform, transform_named};
pub use v1::{IKEV1_AUTHENTICATION, IKEV1_CIPHERS, Ikev1Value, ikev1_value};
