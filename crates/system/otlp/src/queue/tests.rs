use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

const HEAD: &str = "{}";

fn folder() -> (TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("queue");
    (place, folder)
}

fn segments(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut segments: Vec<_> = files
        .filter(|path| path.extension().is_some_and(|end| end == "segment"))
        .collect();
    segments.sort();
    segments
}

/// Everything that waits, taken.
fn taken(queue: &mut Queue) -> Vec<String> {
    let mut all = Vec::new();
    while let Some(batch) = queue.batch(3) {
        all.extend(batch.records);
        queue.acknowledge(0);
    }
    all
}

fn push(queue: &mut Queue, records: impl IntoIterator<Item = u32>) {
    records
        .into_iter()
        .for_each(|number| queue.push(&text(number)).unwrap());
}

fn text(number: u32) -> String {
    format!("record {number:06}")
}

fn texts(numbers: impl IntoIterator<Item = u32>) -> Vec<String> {
    numbers.into_iter().map(text).collect()
}

#[test]
fn a_batch_is_shorter_than_what_a_broker_takes_as_one_message_unless_one_record_is_not() {
    let (_place, folder) = folder();
    for mut queue in [
        Queue::memory(32 << 20, HEAD),
        Queue::open(&folder, 32 << 20, HEAD).unwrap(),
    ] {
        let long = "x".repeat(2_000);
        (0..600).for_each(|_| queue.push(&long).unwrap());
        queue.push(&"y".repeat(LARGEST)).unwrap();
        queue.push(&long).unwrap();
        let mut records = Vec::new();
        while let Some(batch) = queue.batch(512) {
            let bytes: usize = batch.records.iter().map(String::len).sum();
            assert!(bytes <= 800_000 || batch.records.len() == 1, "{bytes}");
            records.push(batch.records.len());
            queue.acknowledge(0);
        }
        assert_eq!(records, [393, 207, 1, 1]);
        assert_eq!(queue.losses(), Losses::default());
    }
}

#[test]
fn what_was_not_acknowledged_is_there_after_a_restart_with_the_head_of_the_process_that_queued_it() {
    let (_place, folder) = folder();
    let mut queue = Queue::open(&folder, 1 << 20, "first").unwrap();
    push(&mut queue, 0..5);
    assert_eq!(queue.batch(2).unwrap().records, texts(0..2));
    queue.acknowledge(0);
    assert_eq!(queue.batch(1).unwrap().records, texts(2..3));
    // Killed with one on its way.
    drop(queue);
    let mut queue = Queue::open(&folder, 1 << 20, "second").unwrap();
    push(&mut queue, 5..7);
    assert_eq!(queue.records(), 5);
    let batch = queue.batch(10).unwrap();
    assert_eq!((&*batch.head, batch.records), ("first", texts(2..5)));
    queue.acknowledge(0);
    let batch = queue.batch(10).unwrap();
    assert_eq!((&*batch.head, batch.records), ("second", texts(5..7)));
    queue.acknowledge(0);
    assert_eq!(
        (queue.batch(10), queue.bytes(), queue.losses()),
        (None, 0, Losses::default())
    );
    assert!(segments(&folder).is_empty(), "what was taken stays on the disk");
}

#[test]
fn files_of_others_in_the_folder_are_left_alone() {
    let (_place, folder) = folder();
    drop(Queue::open(&folder, 1 << 20, HEAD).unwrap());
    let others = [
        "video.segment",
        "1.segment",
        ".segment",
        "00000000000000000001.segment.old",
    ];
    others
        .iter()
        .for_each(|name| fs::write(folder.join(name), "theirs").unwrap());
    let mut queue = Queue::open(&folder, 1 << 20, HEAD).unwrap();
    push(&mut queue, 0..2);
    assert_eq!(taken(&mut queue), texts(0..2));
    for name in others {
        assert_eq!(fs::read_to_string(folder.join(name)).unwrap(), "theirs", "{name}");
    }
}

#[test]
fn a_record_that_was_half_written_is_cut_off_and_those_before_it_stay() {
    for cut in 1..30 {
        let (_place, folder) = folder();
        let mut queue = Queue::open(&folder, 1 << 20, HEAD).unwrap();
        push(&mut queue, 0..3);
        drop(queue);
        let segment = segments(&folder).pop().unwrap();
        let whole = fs::metadata(&segment).unwrap().len();
        OpenOptions::new()
            .write(true)
            .open(&segment)
            .unwrap()
            .set_len(whole - cut)
            .unwrap();
        let mut queue = Queue::open(&folder, 1 << 20, HEAD).unwrap();
        push(&mut queue, 7..8);
        let kept = if cut <= framed_text() { 2 } else { 1 };
        assert_eq!(taken(&mut queue), [texts(0..kept), texts(7..8)].concat(), "{cut}");
        assert_eq!(queue.unreported(), 0, "{cut}");
    }
}

fn framed_text() -> u64 {
    segment::framed(&text(0))
}

/// Before, those of the newest file were cut off uncounted at the next start.
#[test]
fn records_that_a_damaged_one_takes_with_it_are_counted_in_the_newest_file_too() {
    for changed in 0..3_u32 {
        let (_place, folder) = folder();
        let mut queue = Queue::open(&folder, 1 << 20, HEAD).unwrap();
        push(&mut queue, 0..3);
        drop(queue);
        let segment = segments(&folder).pop().unwrap();
        let mut bytes = fs::read(&segment).unwrap();
        let behind = bytes.len() as u64 - framed_text() * u64::from(2 - changed);
        bytes[usize::try_from(behind).unwrap() - 1] ^= 1;
        fs::write(&segment, bytes).unwrap();
        let mut queue = Queue::open(&folder, 1 << 20, HEAD).unwrap();
        push(&mut queue, 7..8);
        assert_eq!(taken(&mut queue), [texts(0..changed), texts(7..8)].concat());
        let lost = u64::from(3 - changed);
        assert_eq!((queue.unreported(), queue.losses().damaged), (lost, lost));
        drop(queue);
        assert_eq!(Queue::open(&folder, 1 << 20, HEAD).unwrap().unreported(), lost, "once");
    }
}

#[test]
fn a_record_that_was_changed_is_never_given_out_and_those_behind_it_in_its_file_are_counted() {
    let (_place, folder) = folder();
    let mut queue = Queue::open(&folder, 16 * 100, HEAD).unwrap();
    push(&mut queue, 0..12);
    assert!(segments(&folder).len() > 3);
    drop(queue);
    let first = segments(&folder).remove(0);
    let mut bytes = fs::read(&first).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&first, bytes).unwrap();
    let mut queue = Queue::open(&folder, 16 * 100, HEAD).unwrap();
    let said = taken(&mut queue);
    assert_eq!(said.len() as u64 + queue.unreported(), 12, "{said:?}");
    assert_eq!(queue.unreported(), 1);
    assert_eq!(queue.losses().damaged, 1);
}

#[test]
fn the_oldest_go_when_there_is_no_room_and_are_counted_once_whoever_counts() {
    let (_place, folder) = folder();
    let limit = 4000;
    let mut queue = Queue::open(&folder, limit, HEAD).unwrap();
    push(&mut queue, 0..1000);
    let bytes: u64 = segments(&folder)
        .iter()
        .map(|path| fs::metadata(path).unwrap().len())
        .sum();
    assert!(bytes <= limit, "{bytes}");
    let lost = queue.losses().full;
    assert!(lost > 0);
    // Killed before anything was written of it.
    drop(queue);
    let mut queue = Queue::open(&folder, limit, HEAD).unwrap();
    assert_eq!((queue.losses().earlier, queue.unreported()), (lost, lost));
    let kept = taken(&mut queue);
    assert_eq!(kept, texts(u32::try_from(lost).unwrap()..1000));
    queue.reported(lost);
    drop(queue);
    let queue = Queue::open(&folder, limit, HEAD).unwrap();
    assert_eq!((queue.unreported(), queue.losses()), (0, Losses::default()));
}

#[test]
fn memory_is_bounded_like_the_disk() {
    let mut queue = Queue::memory(4000, HEAD);
    push(&mut queue, 0..1000);
    assert!(queue.bytes() <= 4000);
    let lost = queue.losses().full;
    assert_eq!(taken(&mut queue), texts(u32::try_from(lost).unwrap()..1000));
}

#[test]
fn what_was_on_its_way_when_its_room_was_needed_is_lost_only_if_it_did_not_arrive() {
    let (_place, folder) = folder();
    for arrives in [true, false] {
        for mut queue in [
            Queue::memory(2000, HEAD),
            Queue::open(&folder.join(arrives.to_string()), 2000, HEAD).unwrap(),
        ] {
            push(&mut queue, 0..10);
            let flying = queue.batch(2).unwrap().records.len() as u64;
            push(&mut queue, 10..300);
            let others = queue.losses().full;
            if arrives {
                queue.acknowledge(0);
                assert_eq!(queue.losses().full, others);
            } else {
                queue.release();
                assert_eq!(queue.losses().full, others + flying);
            }
            let kept = taken(&mut queue);
            let arrived = if arrives { flying } else { 0 };
            assert_eq!(kept.len() as u64 + arrived + queue.losses().full, 300);
            assert_eq!(kept.last(), texts(299..300).last());
        }
    }
}

#[test]
fn refused_records_leave_the_queue_and_are_counted() {
    let mut queue = Queue::memory(1 << 20, HEAD);
    push(&mut queue, 0..3);
    queue.batch(3).unwrap();
    queue.acknowledge(2);
    assert_eq!((queue.records(), queue.losses().refused, queue.unreported()), (0, 2, 2));
}

#[test]
fn files_are_for_their_owner_alone_and_so_is_the_folder() {
    let (_place, folder) = folder();
    let mut queue = Queue::open(&folder, 1 << 20, HEAD).unwrap();
    push(&mut queue, 0..1);
    taken(&mut queue);
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", path.display());
    }
    assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn a_folder_of_others_and_one_in_use_are_refused() {
    let (place, folder) = folder();
    let _queue = Queue::open(&folder, 1 << 20, HEAD).unwrap();
    let refused = Queue::open(&folder, 1 << 20, HEAD).unwrap_err();
    assert!(
        refused.message.contains("another process uses this queue"),
        "{}",
        &refused.message
    );
    let open = place.path().join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    let refused = Queue::open(&open, 1 << 20, HEAD).unwrap_err();
    assert!(refused.hints().contains("chmod 700"), "{}", refused.hints());
    // Only root may give a folder away.
    let other = place.path().join("other");
    fs::create_dir(&other).unwrap();
    if std::os::unix::fs::chown(&other, Some(10101), None).is_ok() {
        let refused = Queue::open(&other, 1 << 20, HEAD).unwrap_err();
        assert!(refused.message.contains("another user"), "{}", &refused.message);
    }
}

/// A symbolic link `lock` made a file elsewhere, and a FIFO with a segment's name kept the start waiting.
#[test]
fn a_link_and_a_fifo_in_the_folder_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let (linked, piped) = (place.path().join("linked"), place.path().join("piped"));
    for folder in [&linked, &piped] {
        drop(Queue::open(folder, 1 << 20, HEAD).unwrap());
    }
    fs::remove_file(linked.join("lock")).unwrap();
    let elsewhere = place.path().join("elsewhere");
    std::os::unix::fs::symlink(&elsewhere, linked.join("lock")).unwrap();
    assert!(Queue::open(&linked, 1 << 20, HEAD).is_err() && !elsewhere.exists());
    let fifo = piped.join("00000000000000000001.segment");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
    assert!(made.success());
    let refused = Queue::open(&piped, 1 << 20, HEAD).unwrap_err();
    assert!(refused.message.contains("no regular file"), "{}", &refused.message);
}

#[test]
fn without_a_readable_cursor_everything_is_sent_once_more() {
    let (_place, folder) = folder();
    let mut queue = Queue::open(&folder, 1 << 20, HEAD).unwrap();
    push(&mut queue, 0..4);
    queue.batch(2).unwrap();
    queue.acknowledge(0);
    drop(queue);
    fs::write(folder.join("cursor"), "").unwrap();
    let mut queue = Queue::open(&folder, 1 << 20, HEAD).unwrap();
    assert_eq!(taken(&mut queue), texts(0..4));
    assert_eq!(queue.unreported(), 0);
}

#[derive(Debug, Clone)]
enum Step {
    Push(usize),
    Take(usize),
    Arrive,
    Fail,
    /// Killed: with the next record half written, and so many bytes of it there; or while the cursor was being replaced.
    Kill(Option<usize>),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (1..200usize).prop_map(Step::Push),
        3 => (1..8usize).prop_map(Step::Take),
        3 => Just(Step::Arrive),
        1 => Just(Step::Fail),
        1 => prop::option::of(0..60usize).prop_map(Step::Kill),
    ]
}

/// Expected fate of each record.
struct Model {
    queue: Queue,
    pushed: u64,
    arrived: Vec<u64>,
    flying: Vec<u64>,
}

impl Model {
    fn number(record: &str) -> u64 {
        record.split(' ').next().unwrap().parse().unwrap()
    }

    fn step(&mut self, step: &Step, reopen: &mut dyn FnMut(Option<usize>, Queue) -> Queue) {
        match step {
            Step::Push(length) => {
                let record = format!("{} {}", self.pushed, "x".repeat(*length));
                self.queue.push(&record).unwrap();
                self.pushed += 1;
            }
            Step::Take(records) if self.flying.is_empty() => {
                let batch = self.queue.batch(*records);
                self.flying = batch
                    .into_iter()
                    .flat_map(|batch| batch.records)
                    .map(|record| Self::number(&record))
                    .collect();
            }
            Step::Take(_) => {}
            Step::Arrive => {
                if !self.flying.is_empty() {
                    self.queue.acknowledge(0);
                }
                self.arrived.append(&mut self.flying);
            }
            Step::Fail => {
                self.queue.release();
                self.flying.clear();
            }
            Step::Kill(torn) => {
                // Their arrival is unknown to the queue: in this model they did not arrive.
                self.flying.clear();
                let queue = std::mem::replace(&mut self.queue, Queue::memory(1000, HEAD));
                self.queue = reopen(*torn, queue);
            }
        }
    }

    fn finish(mut self) -> Result<(), TestCaseError> {
        self.queue.release();
        let waiting = taken(&mut self.queue);
        self.arrived.extend(waiting.iter().map(|record| Self::number(record)));
        prop_assert!(self.arrived.is_sorted_by(|one, next| one < next), "{:?}", self.arrived);
        let lost = self.queue.unreported();
        // Each is either taken or counted as lost, and none is both.
        prop_assert_eq!(self.arrived.len() as u64 + lost, self.pushed);
        Ok(())
    }
}

proptest! {
    #[test]
    fn no_record_is_lost_uncounted_and_none_comes_out_of_order_on_disk(steps in prop::collection::vec(step(), 1..150), limit in 1000..8000u64) {
        let (_place, folder) = folder();
        let mut reopen = |torn: Option<usize>, queue: Queue| {
            drop(queue);
            match (torn, segments(&folder).pop()) {
                (Some(torn), Some(newest)) => {
                    let mut file = OpenOptions::new().append(true).open(newest).unwrap();
                    file.write_all(&[60u8, 0, 0, 0].into_iter().chain(std::iter::repeat(7)).take(torn).collect::<Vec<_>>()).unwrap();
                }
                _ => fs::write(folder.join("cursor.new"), "{").unwrap(),
            }
            Queue::open(&folder, limit, HEAD).unwrap()
        };
        let queue = Queue::open(&folder, limit, HEAD).unwrap();
        let mut model = Model { queue, pushed: 0, arrived: Vec::new(), flying: Vec::new() };
        for step in &steps {
            model.step(step, &mut reopen);
            let bytes: u64 = segments(&folder).iter().map(|path| fs::metadata(path).unwrap().len()).sum();
            prop_assert!(bytes <= limit + 100, "{} of {}", bytes, limit);
        }
        model.finish()?;
    }

    #[test]
    fn no_record_is_lost_uncounted_and_none_comes_out_of_order_in_memory(steps in prop::collection::vec(step(), 1..150), limit in 1000..8000u64) {
        let mut reopen = |_: Option<usize>, queue: Queue| queue;
        let queue = Queue::memory(limit, HEAD);
        let mut model = Model { queue, pushed: 0, arrived: Vec::new(), flying: Vec::new() };
        for step in steps.iter().filter(|step| !matches!(step, Step::Kill(_))) {
            model.step(step, &mut reopen);
            prop_assert!(model.queue.bytes() <= limit);
        }
        model.finish()?;
    }

    #[test]
    fn whatever_stands_in_a_segment_opening_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..400), marked in any::<bool>()) {
        let (_place, folder) = folder();
        drop(Queue::open(&folder, 4000, HEAD).unwrap());
        let mark = if marked { &b"bartizan-queue/1"[..] } else { &[] };
        fs::write(folder.join(format!("{:020}.segment", 1)), [mark, &bytes].concat()).unwrap();
        let mut queue = Queue::open(&folder, 4000, HEAD).unwrap();
        push(&mut queue, 0..1);
        prop_assert_eq!(taken(&mut queue).last().cloned(), Some(text(0)));
    }
}
