//! Programs of BPF at a device: they stand at the interface, whatever it is called, and stay when
//! the process that attached them ends.
//!
//! They are attached by tcx (Linux 6.6), next to the hooks of nftables and independent of them: on
//! the way in before these, on the way out behind them.

use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

use nix::net::if_::if_nameindex;

use crate::Error;

/// Commands of bpf(2).
const MAP_CREATE: libc::c_long = 0;
const MAP_LOOKUP: libc::c_long = 1;
const PROGRAM_LOAD: libc::c_long = 5;
const PROGRAM_ATTACH: libc::c_long = 8;
const PROGRAM_DETACH: libc::c_long = 9;
const PROGRAM_BY_ID: libc::c_long = 13;
const MAP_BY_ID: libc::c_long = 14;
const INFORMATION: libc::c_long = 15;
const PROGRAM_QUERY: libc::c_long = 16;

/// `BPF_MAP_TYPE_ARRAY`, `BPF_PROG_TYPE_SCHED_CLS` and `BPF_F_BEFORE`.
const ARRAY: u32 = 2;
const CLASSIFIER: u32 = 3;
const BEFORE: u32 = 1 << 3;
/// Programs at one hook that are looked at: the kernel takes 64.
const MOST: usize = 64;
/// Bytes of a program's name with the zero behind it.
const NAME: usize = 16;

/// On which side of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hook {
    /// Packets that arrive.
    Ingress,
    /// Packets that leave.
    Egress,
}

impl Hook {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Ingress, Self::Egress];

    /// `BPF_TCX_INGRESS` and `BPF_TCX_EGRESS`.
    const fn code(self) -> u32 {
        match self {
            Self::Ingress => 46,
            Self::Egress => 47,
        }
    }
}

/// A program that passes frames by their EtherType and counts what it drops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passing<'a> {
    /// EtherTypes that pass whatever their address; one at least.
    pub any: &'a [u16],
    /// EtherTypes that pass to one address alone.
    pub to: &'a [(u16, [u8; 6])],
}

/// A program at a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attached {
    /// Its name, of 15 bytes at most.
    pub name: String,
    /// Frames that it dropped, where it is one of these.
    pub dropped: u64,
    id: u32,
}

/// Numbers of the interfaces of this network namespace.
///
/// # Errors
///
/// The error of the system call.
pub fn interfaces() -> Result<Vec<u32>, Error> {
    let failed = |errno: nix::Error| Error::io("listing network interfaces")(errno.into());
    let all = if_nameindex().map_err(failed)?;
    Ok(all.iter().map(nix::net::if_::Interface::index).collect())
}

/// The programs at a device, the first first. Links of other programs are among them.
///
/// # Errors
///
/// The error of the system call: `EINVAL` where it has no such hook, `EPERM` where this user may
/// not.
pub fn attached(index: u32, hook: Hook) -> io::Result<Vec<Attached>> {
    let mut ids = [0_u32; MOST];
    let mut attributes = Attributes::default();
    attributes.number(0, index).number(4, hook.code());
    attributes.address(16, ids.as_mut_ptr().cast_const().cast());
    attributes.number(24, u32::try_from(MOST).unwrap_or_default());
    attributes.call(PROGRAM_QUERY)?;
    let count = usize::try_from(attributes.read(24)).unwrap_or_default();
    let there = ids.iter().take(count).filter_map(|&id| match Attached::of(id) {
        // It went since they were listed.
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => None,
        attached => Some(attached),
    });
    there.collect()
}

/// Attaches a program in front of those that are there.
///
/// # Errors
///
/// The error of the system call, as [`attached`]; [`io::ErrorKind::InvalidInput`] where the name is
/// longer than 15 bytes.
pub fn attach(index: u32, hook: Hook, name: &str, passing: Passing<'_>) -> io::Result<()> {
    let program = load(hook, name, passing)?;
    let mut attributes = Attributes::default();
    attributes
        .number(0, index)
        .descriptor(4, &program)
        .number(8, hook.code())
        .number(12, BEFORE);
    attributes.call(PROGRAM_ATTACH).map(drop)
}

/// Returns true if this kernel takes such a program from this user, and lets the user find it
/// again, which needs more rights than attaching one.
#[must_use]
pub fn is_taken() -> bool {
    // One that passes nothing has instructions that nothing reaches, which no kernel takes.
    let passing = Passing { any: &[0], to: &[] };
    let found = || {
        let program = load(Hook::Egress, "bartizan_try", passing)?;
        let mut information = Attributes::default();
        information_of(&program, INFORMATION_LENGTH, &mut information)?;
        by_id(PROGRAM_BY_ID, information.read(4))
    };
    found().is_ok()
}

/// Takes a program off its device; one that is gone is taken off already.
///
/// # Errors
///
/// The error of the system call.
pub fn detach(index: u32, hook: Hook, attached: &Attached) -> io::Result<()> {
    let program = match by_id(PROGRAM_BY_ID, attached.id) {
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => return Ok(()),
        program => program?,
    };
    let mut attributes = Attributes::default();
    attributes
        .number(0, index)
        .descriptor(4, &program)
        .number(8, hook.code());
    match attributes.call(PROGRAM_DETACH) {
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENODEV)) => Ok(()),
        detached => detached.map(drop),
    }
}

impl Attached {
    fn of(id: u32) -> io::Result<Self> {
        let program = by_id(PROGRAM_BY_ID, id)?;
        let mut map = 0_u32;
        // `struct bpf_prog_info`: maps are written where it says before.
        let mut information = Attributes::default();
        information
            .number(52, 1)
            .address(56, (&raw mut map).cast_const().cast());
        information_of(&program, INFORMATION_LENGTH, &mut information)?;
        let name = &information.bytes()[64..64 + NAME];
        let end = name.iter().position(|&byte| byte == 0).unwrap_or(NAME);
        Ok(Self {
            name: String::from_utf8_lossy(&name[..end]).into_owned(),
            dropped: if map == 0 { 0 } else { count_of(map).unwrap_or_default() },
            id,
        })
    }
}

/// Bytes of `struct bpf_prog_info` that are asked for: name and maps are among the first.
const INFORMATION_LENGTH: u32 = 80;
/// Bytes of `struct bpf_map_info` that are asked for.
const MAP_INFORMATION: u32 = 24;

/// Value of the only element of a map; 0 where it is no map of one number.
fn count_of(map: u32) -> io::Result<u64> {
    let map = by_id(MAP_BY_ID, map)?;
    let (key, mut value) = (0_u32, 0_u64);
    // `struct bpf_map_info`: type, number, sizes of key and value.
    let mut described = Attributes::default();
    information_of(&map, MAP_INFORMATION, &mut described)?;
    if [0, 8, 12].map(|at| described.read(at)) != [ARRAY, 4, 8] {
        return Ok(0);
    }
    let mut attributes = Attributes::default();
    attributes
        .descriptor(0, &map)
        .address(8, (&raw const key).cast())
        .address(16, (&raw mut value).cast_const().cast());
    attributes.call(MAP_LOOKUP)?;
    Ok(value)
}

/// Asks for the first bytes of what describes a program or a map; `into` may say what is written elsewhere.
fn information_of(object: &OwnedFd, length: u32, into: &mut Attributes) -> io::Result<()> {
    let mut attributes = Attributes::default();
    attributes
        .descriptor(0, object)
        .number(4, length)
        .address(8, into.0.as_mut_ptr().cast_const().cast());
    attributes.call(INFORMATION).map(drop)
}

fn by_id(command: libc::c_long, id: u32) -> io::Result<OwnedFd> {
    let mut attributes = Attributes::default();
    attributes.number(0, id);
    attributes.opened(command)
}

/// Loads a program with a counter of its own; both live as long as the program is attached.
fn load(hook: Hook, name: &str, passing: Passing<'_>) -> io::Result<OwnedFd> {
    if name.len() >= NAME {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the name has more than 15 bytes",
        ));
    }
    let mut attributes = Attributes::default();
    attributes.number(0, ARRAY).number(4, 4).number(8, 8).number(12, 1);
    let counter = attributes.opened(MAP_CREATE)?;
    let instructions = instructions(passing, counter.as_raw_fd());
    let licence = c"Apache-2.0";
    let mut attributes = Attributes::default();
    attributes
        .number(0, CLASSIFIER)
        .number(4, u32::try_from(instructions.len()).unwrap_or(u32::MAX))
        .address(8, instructions.as_ptr().cast())
        .address(16, licence.as_ptr().cast())
        .text(48, name)
        .number(68, hook.code());
    attributes.opened(PROGRAM_LOAD)
}

/// One instruction: code, registers, offset, number.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Instruction {
    code: u8,
    registers: u8,
    offset: i16,
    number: i32,
}

/// `to` and `from` are numbers of registers.
const fn instruction(code: u8, [to, from]: [u8; 2], offset: i16, number: i32) -> Instruction {
    let registers = if cfg!(target_endian = "little") {
        to | from << 4
    } else {
        from | to << 4
    };
    Instruction {
        code,
        registers,
        offset,
        number,
    }
}

/// Codes of instructions.
const LOAD_32: u8 = 0x61;
const LOAD_16: u8 = 0x69;
const STORE_32: u8 = 0x62;
const COPY: u8 = 0xbf;
const SET: u8 = 0xb7;
const ADD: u8 = 0x07;
const GO: u8 = 0x05;
const IF_SAME: u8 = 0x15;
const IF_OTHER: u8 = 0x55;
const IF_OTHER_32: u8 = 0x56;
const IF_OVER: u8 = 0x2d;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
const SET_64: u8 = 0x18;
const ADD_ATOMIC: u8 = 0xdb;
/// Offsets in `struct __sk_buff`: whether a VLAN tag was taken out, beginning and end of the frame.
const TAG: i16 = 20;
const DATA: i16 = 76;
const END: i16 = 80;
/// Bytes of an Ethernet header, and where its EtherType is.
const HEADER: i32 = 14;
const KIND: i16 = 12;
/// `TCX_NEXT`: what else is there decides; `TCX_DROP`.
const NEXT: i32 = -1;
const DROP: i32 = 2;
/// `bpf_map_lookup_elem`.
const LOOKUP: i32 = 1;

/// Target of an instruction.
#[derive(Debug, Clone, Copy)]
enum Goes {
    /// As its offset says.
    On,
    Pass,
    Drop,
}

/// A frame without a whole header or with a VLAN tag is dropped, and what `passing` does not name.
fn instructions(passing: Passing<'_>, counter: i32) -> Vec<Instruction> {
    let on = |code, registers, offset, number| (Goes::On, instruction(code, registers, offset, number));
    let jump = |to, code, registers, number| (to, instruction(code, registers, 0, number));
    let mut judge = vec![
        on(LOAD_32, [5, 1], TAG, 0),
        on(LOAD_32, [2, 1], DATA, 0),
        on(LOAD_32, [3, 1], END, 0),
        jump(Goes::Drop, IF_OTHER, [5, 0], 0),
        on(COPY, [4, 2], 0, 0),
        on(ADD, [4, 0], 0, HEADER),
        jump(Goes::Drop, IF_OVER, [4, 3], 0),
        on(LOAD_16, [5, 2], KIND, 0),
    ];
    judge.extend(
        passing
            .any
            .iter()
            .map(|&kind| jump(Goes::Pass, IF_SAME, [5, 0], wire(kind))),
    );
    for &(kind, [a, b, c, d, e, f]) in passing.to {
        judge.extend([
            // Over the four that look at the address.
            on(IF_OTHER, [5, 0], 4, wire(kind)),
            on(LOAD_32, [4, 2], 0, 0),
            jump(Goes::Drop, IF_OTHER_32, [4, 0], i32::from_ne_bytes([a, b, c, d])),
            on(LOAD_16, [4, 2], 4, 0),
            jump(Goes::Pass, IF_SAME, [4, 0], i32::from(u16::from_ne_bytes([e, f]))),
        ]);
    }
    judge.push(jump(Goes::Drop, GO, [0, 0], 0));
    let pass = [on(SET, [0, 0], 0, NEXT), on(EXIT, [0, 0], 0, 0)];
    let drop = [
        on(STORE_32, [10, 0], -4, 0),
        on(COPY, [2, 10], 0, 0),
        on(ADD, [2, 0], 0, -4),
        // The counter by its descriptor, in two instructions.
        on(SET_64, [1, 1], 0, counter),
        on(0, [0, 0], 0, 0),
        on(CALL, [0, 0], 0, LOOKUP),
        on(IF_SAME, [0, 0], 2, 0),
        on(SET, [1, 0], 0, 1),
        on(ADD_ATOMIC, [0, 1], 0, 0),
        on(SET, [0, 0], 0, DROP),
        on(EXIT, [0, 0], 0, 0),
    ];
    let (to_pass, to_drop) = (judge.len(), judge.len() + pass.len());
    let steps = judge.into_iter().chain(pass).chain(drop).enumerate();
    let placed = steps.map(|(at, (goes, one))| {
        let offset = |to: usize| i16::try_from(to - (at + 1)).unwrap_or(i16::MAX);
        match goes {
            Goes::On => one,
            Goes::Pass => Instruction {
                offset: offset(to_pass),
                ..one
            },
            Goes::Drop => Instruction {
                offset: offset(to_drop),
                ..one
            },
        }
    });
    placed.collect()
}

/// An EtherType as two bytes of a frame are loaded.
fn wire(kind: u16) -> i32 {
    i32::from(u16::from_ne_bytes(kind.to_be_bytes()))
}

/// `union bpf_attr`, and other structures of these calls.
#[derive(Debug, Default)]
struct Attributes([u64; 16]);

impl Attributes {
    fn number(&mut self, at: usize, value: u32) -> &mut Self {
        self.write(at, &value.to_ne_bytes())
    }

    fn descriptor(&mut self, at: usize, value: &OwnedFd) -> &mut Self {
        self.write(at, &value.as_raw_fd().to_ne_bytes())
    }

    fn text(&mut self, at: usize, value: &str) -> &mut Self {
        self.write(at, value.as_bytes())
    }

    /// The value at the address must live until the call is over.
    fn address(&mut self, at: usize, value: *const libc::c_void) -> &mut Self {
        self.write(at, &(value.addr() as u64).to_ne_bytes())
    }

    fn write(&mut self, at: usize, value: &[u8]) -> &mut Self {
        for (index, byte) in value.iter().enumerate() {
            let (word, place) = ((at + index) / 8, (at + index) % 8);
            let mut bytes = self.0[word].to_ne_bytes();
            bytes[place] = *byte;
            self.0[word] = u64::from_ne_bytes(bytes);
        }
        self
    }

    fn bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    fn read(&self, at: usize) -> u32 {
        let bytes = self.bytes();
        u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
    }

    fn call(&mut self, command: libc::c_long) -> io::Result<libc::c_long> {
        // SAFETY: the attributes are live and of the length given; addresses in them refer to what
        // outlives this call and is as long as the command needs: each function above writes both.
        let result = unsafe { libc::syscall(libc::SYS_bpf, command, self.0.as_mut_ptr(), size_of_val(&self.0)) };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(result)
    }

    /// A call that gives a descriptor, which the kernel closes on exec(3).
    fn opened(&mut self, command: libc::c_long) -> io::Result<OwnedFd> {
        let descriptor = self.call(command)?;
        let descriptor = i32::try_from(descriptor).map_err(io::Error::other)?;
        // SAFETY: the kernel has just opened it for this call, and it has no other owner.
        Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jumps_go_to_what_passes_and_to_what_drops() {
        let address = [1, 0x80, 0xc2, 0, 0, 3];
        let made = instructions(
            Passing {
                any: &[0x88e5, 0x888e],
                to: &[(0x88b5, address)],
            },
            7,
        );
        let pass = made
            .iter()
            .position(|one| *one == instruction(SET, [0, 0], 0, NEXT))
            .unwrap();
        let target = |at: usize| at + 1 + usize::try_from(made[at].offset).unwrap();
        let to = |code: u8| -> Vec<usize> {
            let places = made.iter().enumerate().take(pass).filter(|(_, one)| one.code == code);
            places.map(|(at, _)| target(at)).collect()
        };
        // Two kinds and the second half of an address; a tag and another kind; a short frame;
        // another first half; the rest.
        assert_eq!(to(IF_SAME), [pass; 3]);
        assert_eq!(to(IF_OTHER), [pass + 2, pass - 1]);
        assert_eq!(to(IF_OVER), [pass + 2]);
        assert_eq!(to(IF_OTHER_32), [pass + 2]);
        assert_eq!(to(GO), [pass + 2]);
        assert_eq!(size_of::<Instruction>(), 8);
    }

    #[test]
    fn name_that_is_too_long_is_refused() {
        let refused = attach(1, Hook::Egress, "sixteen_letters_", Passing { any: &[], to: &[] });
        assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
