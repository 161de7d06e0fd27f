use proptest::prelude::*;

use super::*;

/// The generators (SP 800-186, section 3.2.1), x and y.
const GENERATORS: [(&Curve, &str, &str); 3] = [
    (
        &P256,
        "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296",
        "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5",
    ),
    (
        &P384,
        "aa87ca22be8b05378eb1c71ef320ad746e1d3b628ba79b9859f741e082542a385502f25dbf55296c3a545e3872760ab7",
        "3617de4a96262c6f5d9e98bf9292dc29f8f41dbd289a147ce9da3113b5f0b8c00a60b1ce1d7e819d7a431d7c90ea0e5f",
    ),
    (
        &P521,
        "00c6858e06b70404e9cd9e3ecb662395b4429c648139053fb521f828af606b4d3dbaa14b5e77efe75928fe1dc127a2ffa8de3348b3c1856a429bf97e7e31c2e5bd66",
        "011839296a789a3bc0045c8a5fb42c7d1bd998f54449579b446817afbd17273e662c97ee72995ef42640c550b9013fad0761353c7086a272c24088be94769fd16650",
    ),
];

fn bytes(hexadecimal: &str) -> Vec<u8> {
    hexadecimal.as_bytes().chunks_exact(2).map(hex).collect()
}

#[test]
fn generators_lie_on_their_curves_and_their_neighbours_do_not() {
    for (curve, x, y) in GENERATORS {
        let point = [bytes(x), bytes(y)].concat();
        assert_eq!(of_point(curve, &point), None);
        for place in [0, curve.length - 1, curve.length, point.len() - 1] {
            let mut other = point.clone();
            other[place] ^= 1;
            assert_eq!(of_point(curve, &other), Some(NotAKey::Point));
        }
        // Congruent to the generator's, and not reduced.
        let prime = bytes(curve.prime);
        assert_eq!(of_point(curve, &[prime.clone(), prime].concat()), Some(NotAKey::Point));
    }
}

#[test]
fn a_coefficient_of_the_modulus_is_no_key_and_one_below_it_is() {
    let key = |coefficient: u16, place: usize| {
        // Canonical, and no filler.
        let mut key: Vec<u8> = (0..1184_u16).map(|place| (place % 192) as u8).collect();
        key.chunks_exact_mut(3).for_each(|three| three[1] &= 0x7c);
        let (at, low) = (3 * (place / 2), place.is_multiple_of(2));
        let three = &mut key[at..at + 3];
        if low {
            three.copy_from_slice(&[coefficient as u8, (coefficient >> 8) as u8, 0]);
        } else {
            three.copy_from_slice(&[0, (coefficient << 4) as u8, (coefficient >> 4) as u8]);
        }
        key
    };
    for place in [0, 1, 766, 767] {
        assert_eq!(of_kem(&key(MODULUS - 1, place)), None, "{place}");
        assert_eq!(of_kem(&key(MODULUS, place)), Some(NotAKey::Coefficient), "{place}");
    }
    // The seed behind the coefficients may be anything.
    let mut seeded = key(0, 0);
    seeded[1152..].fill(0xff);
    assert_eq!(of_kem(&seeded), None);
}

#[test]
fn random_bytes_are_no_share_of_a_hybrid_from_the_client() {
    for code in [0x0200, 0x0201, 0x0202, 0x11eb, 0x11ec, 0x11ed, 0x6399, 0x639a] {
        let known = group(NamedGroup(code)).unwrap();
        let share: Vec<u8> = (0..known.client_share)
            .map(|place| (u32::from(place) * 151 + 77) as u8)
            .collect();
        assert!(of_group(known.code, Side::Client, &share).is_some(), "{}", known.name);
    }
    // A ciphertext may be anything but filler, and the point next to it may not.
    assert_eq!(
        of_group(NamedGroup(0x11ec), Side::Server, &[0xff; 1120]),
        Some(NotAKey::Filler)
    );
    for filler in [0, 0x41, 0xaa] {
        let key = [filler; 1216];
        assert_eq!(
            of_group(NamedGroup(0x11ec), Side::Client, &key),
            Some(NotAKey::Filler),
            "{filler}"
        );
        assert_eq!(of_ike(36, true, &key[..1184]), Some(NotAKey::Filler));
        assert_eq!(of_ike(36, false, &key[..1088]), Some(NotAKey::Filler));
    }
    assert_eq!(
        of_group(NamedGroup(0x11eb), Side::Server, &[4; 1153]),
        Some(NotAKey::Point)
    );
}

proptest! {
    #[test]
    fn no_bytes_panic(code in prop::sample::select(vec![0x0200u16, 0x0201, 0x11eb, 0x11ec, 0x11ed, 0x2f3d]),
                      data in prop::collection::vec(any::<u8>(), 0..1800), client: bool) {
        let side = if client { Side::Client } else { Side::Server };
        of_group(NamedGroup(code), side, &data);
        of_ike(code & 63, client, &data);
    }

    #[test]
    fn a_product_is_that_of_plain_arithmetic(one in 0..65521u64, other in 0..65521u64) {
        let mut prime = [0; LIMBS];
        prime[0] = 65521;
        let number = |value| { let mut number = [0; LIMBS]; number[0] = value; number };
        prop_assert_eq!(Field(prime).multiply(number(one), number(other)), number(one * other % 65521));
    }
}
