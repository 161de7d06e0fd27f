//! Instructions of this processor that cryptography is made of, asked of the processor itself.

use serde::Serialize;

/// An extension of the instruction set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Instructions {
    /// As its maker calls it.
    pub(super) name: &'static str,
    /// True if processor and kernel let programs use it.
    pub(super) usable: bool,
    /// Algorithms that use it.
    pub(super) serves: &'static str,
}

/// Those that matter here; empty on a processor that is neither x86-64 nor AArch64.
pub(super) fn instructions() -> Vec<Instructions> {
    let mut found = Vec::new();
    macro_rules! look {
        ($detected:ident: $($feature:tt, $name:literal, $serves:literal;)*) => {
            $(found.push(Instructions { name: $name, usable: std::arch::$detected!($feature), serves: $serves });)*
        };
    }
    #[cfg(target_arch = "x86_64")]
    look! { is_x86_feature_detected:
        "aes", "AES-NI", "AES, one block at a time";
        "vaes", "VAES", "AES, several blocks at a time";
        "pclmulqdq", "PCLMULQDQ", "GHASH of AES-GCM";
        "vpclmulqdq", "VPCLMULQDQ", "GHASH of AES-GCM, several blocks at a time";
        "sha", "SHA-NI", "SHA-256";
        "avx2", "AVX2", "ML-KEM, ML-DSA, ChaCha20";
        "avx512f", "AVX-512", "AES-GCM and ChaCha20 in wider registers";
    }
    #[cfg(target_arch = "aarch64")]
    look! { is_aarch64_feature_detected:
        "aes", "AES", "AES";
        "pmull", "PMULL", "GHASH of AES-GCM";
        "sha2", "SHA2", "SHA-256";
        "sha3", "SHA3", "SHA-3 of ML-KEM and ML-DSA";
        "neon", "NEON", "ML-KEM, ML-DSA, ChaCha20";
    }
    found
}

/// Returns true if the processor has AES instructions; `None` for an unknown processor.
pub(super) fn aes() -> Option<bool> {
    let found = instructions();
    let aes = found.iter().find(|one| matches!(one.name, "AES-NI" | "AES"))?;
    Some(aes.usable)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel's own list, made by other code from the same processor.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn instructions_are_those_that_the_kernel_lists() {
        let text = std::fs::read_to_string("/proc/cpuinfo").unwrap();
        let flags = text.lines().find(|line| line.starts_with("flags")).unwrap();
        let flags: Vec<&str> = flags.split_whitespace().collect();
        for one in instructions() {
            let flag = match one.name {
                "AES-NI" => "aes",
                "SHA-NI" => "sha_ni",
                "AVX-512" => "avx512f",
                name => &name.to_lowercase(),
            };
            assert_eq!(one.usable, flags.contains(&flag), "{}", one.name);
        }
    }
}
