//! The kernel asks for an SA: a packet met a policy and found none.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use bartizan_host::netlink::{Family, Listener, attributes};

use super::codes;

/// Bytes of `xfrm_user_acquire`, and where in a template of the policy the number of the link stands.
const QUESTION: usize = 280;
const NUMBER: usize = 44;

/// Hears what the kernel asks for, in the network namespace that it was made in.
#[derive(Debug)]
pub struct Asked(Listener);

impl Asked {
    /// Listens. From then on the kernel asks once for what it lacks, and again 30 s later (`net.core.xfrm_acq_expires`).
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn listen() -> io::Result<Self> {
        Listener::join(Family::Xfrm, codes::ACQUIRES).map(Self)
    }

    /// The numbers of the links whose packets have found no SA since.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn numbers(&self) -> io::Result<Vec<u32>> {
        let mut numbers = Vec::new();
        self.0.receive(&mut |kind, content| {
            if kind == codes::ACQUIRE {
                numbers.extend(number(content));
            }
        })?;
        Ok(numbers)
    }
}

impl AsFd for Asked {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn number(question: &[u8]) -> Option<u32> {
    let mut all = attributes(question.get(QUESTION..)?);
    let (_, template) = all.find(|(kind, _)| *kind == codes::TEMPLATE)?;
    template
        .get(NUMBER..)?
        .first_chunk()
        .map(|bytes| u32::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_that_of_the_policys_template() {
        let mut question = vec![0_u8; QUESTION];
        assert_eq!(number(&question), None);
        let mut template = vec![0_u8; 64];
        template[NUMBER..][..4].copy_from_slice(&0x2000_0007_u32.to_ne_bytes());
        question.extend([68_u16.to_ne_bytes(), codes::TEMPLATE.to_ne_bytes()].concat());
        question.extend(&template);
        assert_eq!(number(&question), Some(0x2000_0007));
        assert_eq!(number(&question[..question.len() - 1]), None);
    }
}
