//! Key shares that can be no keys: what their encoding alone shows, by plain arithmetic on public values.

use bartizan_registry::{NamedGroup, group};

use crate::Side;

/// Coefficients of ML-KEM are integers modulo this prime (FIPS 203, section 2.4.1).
const MODULUS: u16 = 3329;
/// Different octets in a key or ciphertext of ML-KEM at least: random ones have some 240 in the
/// shortest.
const LEAST_OCTETS: usize = 64;
/// Limbs of the longest coordinate, 521 bits.
const LIMBS: usize = 9;

/// Reasons for which a key share that is as long as a key is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum NotAKey {
    /// An encapsulation key is not canonical: the check of FIPS 203, section 7.2.
    #[error("a coefficient of its ML-KEM key is 3329 or more (FIPS 203, section 7.2)")]
    Coefficient,
    /// A point does not satisfy its curve's equation, or is not encoded as TLS and IKE ask for.
    #[error("its point does not lie on the curve")]
    Point,
    /// A key or ciphertext of ML-KEM looks like filler: canonical, but made by no generator.
    #[error("its ML-KEM part has fewer than {LEAST_OCTETS} different octets")]
    Filler,
}

/// A curve y² = x³ - 3x + b over a prime field (SP 800-186, section 3.2.1), in hexadecimal.
struct Curve {
    /// Bytes of a coordinate.
    length: usize,
    prime: &'static str,
    b: &'static str,
}

const P256: Curve = Curve {
    length: 32,
    prime: "ffffffff00000001000000000000000000000000ffffffffffffffffffffffff",
    b: "5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604b",
};
const P384: Curve = Curve {
    length: 48,
    prime: "fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffeffffffff0000000000000000ffffffff",
    b: "b3312fa7e23ee7e4988e056be3f82d19181d9c6efe8141120314088f5013875ac656398d8a2ed19d2a85c8edd3ec2aef",
};
const P521: Curve = Curve {
    length: 66,
    prime: "01ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    b: "0051953eb9618e1c9a1f929a21a0b68540eea2da725b99b315f3b8b489918ef109e156193951ec7e937b1652c0bd3bb1bf073573df883d2c34f1ef451fd46b503f00",
};

/// Fault of the share of a post-quantum group that this side sends; none for a share of another length, of which the
/// length says enough.
pub(crate) fn of_group(code: NamedGroup, side: Side, data: &[u8]) -> Option<NotAKey> {
    let parts = match group(code)?.parts {
        [] => &[code][..],
        parts => parts,
    };
    of_parts(parts, side, data)
}

/// The same of a share that these groups make together, in this order; a single curve is no post-quantum group.
pub(crate) fn of_parts(parts: &[NamedGroup], side: Side, mut data: &[u8]) -> Option<NotAKey> {
    let length = |part: &NamedGroup| {
        group(*part).map_or(0, |known| match side {
            Side::Client => usize::from(known.client_share),
            Side::Server => usize::from(known.server_share),
        })
    };
    if data.len() != parts.iter().map(length).sum::<usize>() {
        return None;
    }
    for part in parts {
        let (share, rest) = data.split_at_checked(length(part))?;
        data = rest;
        let fault = match (*part, share) {
            (kem, key) if is_kem(kem) && side == Side::Client => of_kem(key),
            (kem, ciphertext) if is_kem(kem) => of_filler(ciphertext),
            (NamedGroup::SECP256R1, [0x04, point @ ..]) if parts.len() > 1 => of_point(&P256, point),
            (NamedGroup::SECP384R1, [0x04, point @ ..]) if parts.len() > 1 => of_point(&P384, point),
            (NamedGroup::SECP521R1, [0x04, point @ ..]) if parts.len() > 1 => of_point(&P521, point),
            (NamedGroup::SECP256R1 | NamedGroup::SECP384R1 | NamedGroup::SECP521R1, _) if parts.len() > 1 => {
                Some(NotAKey::Point)
            }
            _ => None,
        };
        if fault.is_some() {
            return fault;
        }
    }
    None
}

/// Fault of the key exchange data of an IKE method: ML-KEM's encapsulation key, or a point without a leading octet
/// (RFC 5903, section 7).
pub(crate) fn of_ike(method: u16, initiator: bool, data: &[u8]) -> Option<NotAKey> {
    match (method, data.len()) {
        (35, 800) | (36, 1184) | (37, 1568) if initiator => of_kem(data),
        (35, 768) | (36, 1088) | (37, 1568) => of_filler(data),
        (19, 64) => of_point(&P256, data),
        (20, 96) => of_point(&P384, data),
        (21, 132) => of_point(&P521, data),
        _ => None,
    }
}

fn is_kem(part: NamedGroup) -> bool {
    // ML-KEM, and Kyber as drafts had it: coefficients of a key that was made are reduced in both.
    matches!(part.0, 0x0200..=0x0202 | 0x023a | 0x023c | 0x023d)
}

/// Coefficients of twelve bits each, then a seed of 32 bytes (FIPS 203, algorithms 5 and 13).
fn of_kem(key: &[u8]) -> Option<NotAKey> {
    let coefficients = &key[..key.len().checked_sub(32)?];
    let reduced = coefficients.chunks_exact(3).all(|bytes| {
        let [a, b, c] = [bytes[0], bytes[1], bytes[2]].map(u16::from);
        a + ((b & 15) << 8) < MODULUS && (b >> 4) + (c << 4) < MODULUS
    });
    (!reduced)
        .then_some(NotAKey::Coefficient)
        .or_else(|| of_filler(coefficients))
}

/// A key of zeros is canonical, and a message encapsulated to it is readable without any secret.
fn of_filler(octets: &[u8]) -> Option<NotAKey> {
    let mut seen = [false; 256];
    octets.iter().for_each(|octet| seen[usize::from(*octet)] = true);
    let different = seen.into_iter().filter(|seen| *seen).count();
    (different < LEAST_OCTETS).then_some(NotAKey::Filler)
}

fn of_point(curve: &Curve, point: &[u8]) -> Option<NotAKey> {
    let (x, y) = point.split_at_checked(curve.length)?;
    let field = Field(read(curve.prime.as_bytes().chunks_exact(2).map(hex)));
    let [x, y] = [x, y].map(|coordinate| read(coordinate.iter().copied()));
    let b = read(curve.b.as_bytes().chunks_exact(2).map(hex));
    let on_curve = || {
        let three = field.add(field.add(x, x), x);
        let left = field.add(field.multiply(y, y), three);
        left == field.add(field.multiply(field.multiply(x, x), x), b)
    };
    let valid = less(&x, &field.0) && less(&y, &field.0) && on_curve();
    (!valid).then_some(NotAKey::Point)
}

/// A number, the least significant limb first.
type Number = [u64; LIMBS];

/// Big-endian bytes.
fn read(bytes: impl DoubleEndedIterator<Item = u8>) -> Number {
    let mut number = [0; LIMBS];
    for (place, byte) in bytes.rev().enumerate() {
        number[place / 8] |= u64::from(byte) << (8 * (place % 8));
    }
    number
}

fn hex(digits: &[u8]) -> u8 {
    let digit = |digit: u8| if digit < b'a' { digit - b'0' } else { digit - b'a' + 10 };
    16 * digit(digits[0]) + digit(digits[1])
}

fn less(one: &Number, other: &Number) -> bool {
    one.iter().rev().lt(other.iter().rev())
}

/// Integers modulo a prime of at most 521 bits: a sum of two has room in nine limbs.
struct Field(Number);

impl Field {
    fn add(&self, one: Number, other: Number) -> Number {
        let mut sum = [0; LIMBS];
        let mut carry = false;
        for (place, limb) in sum.iter_mut().enumerate() {
            let (value, first) = one[place].overflowing_add(other[place]);
            let (value, second) = value.overflowing_add(u64::from(carry));
            (*limb, carry) = (value, first | second);
        }
        if less(&sum, &self.0) {
            return sum;
        }
        let mut borrow = false;
        for (limb, prime) in sum.iter_mut().zip(self.0) {
            let (value, first) = limb.overflowing_sub(prime);
            let (value, second) = value.overflowing_sub(u64::from(borrow));
            (*limb, borrow) = (value, first | second);
        }
        sum
    }

    /// By doubling and adding: values are public, and few.
    fn multiply(&self, one: Number, other: Number) -> Number {
        let bits = 64 * (LIMBS - other.iter().rev().take_while(|limb| **limb == 0).count());
        let mut product = [0; LIMBS];
        for bit in (0..bits).rev() {
            product = self.add(product, product);
            if other[bit / 64] >> (bit % 64) & 1 == 1 {
                product = self.add(product, one);
            }
        }
        product
    }
}

#[cfg(test)]
mod tests;
