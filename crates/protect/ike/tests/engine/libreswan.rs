//! Libreswan at the other end, in both roles: judged by packets, by what passes through both
//! kernels, and by what its daemon (pluto) says.

mod as_root {
    mod life;
    mod preshared;
    mod set_up;
    mod stage;

    use crate::link::{Algorithm, Authority};
    use stage::{Pluto, Stage};

    /// End that acts.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum By {
        Us,
        Pluto,
    }

    impl By {
        const BOTH: [Self; 2] = [Self::Us, Self::Pluto];
    }

    /// One boot of a guest for all cases.
    #[test]
    fn libreswan_and_this_engine_agree_in_both_roles() {
        if bartizan_testing::in_a_guest(&[bartizan_host::Feature::Esp]) {
            return;
        }
        let stage = Stage::set_up();
        let kinds = [
            (Algorithm::EcdsaP256, "ecdsa"),
            (Algorithm::EcdsaP384, "ecdsa"),
            (Algorithm::Rsa, "rsa-sha2"),
        ];
        for (algorithm, signs_by) in kinds {
            let authority = Authority::new(algorithm);
            let pluto = Pluto::start(&stage, &authority, signs_by);
            set_up::every_key_exchange_and_signature_that_both_have(&stage, &pluto, algorithm);
            if matches!(algorithm, Algorithm::EcdsaP256) {
                life::both_kinds_are_replaced_by_either_end(&stage, &pluto);
                life::either_end_asks_whether_the_other_is_alive(&stage, &pluto);
                preshared::a_key_is_required_of_each_other(&stage, &pluto);
            } else if matches!(algorithm, Algorithm::Rsa) {
                preshared::where_a_key_is_optional_both_use_it_or_go_on_without(&pluto);
            }
            pluto.stop();
        }
        let authority = Authority::new(Algorithm::EcdsaP256);
        let pluto = Pluto::start(&stage, &authority, "ecdsa");
        set_up::another_authority_is_refused(&stage, &pluto);
        pluto.stop();
    }
}
