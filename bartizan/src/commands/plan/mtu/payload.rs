//! The best split of a payload of fixed size.

use bartizan_budget::Source;
use bartizan_budget::fronthaul::Mode;
use bartizan_budget::mtu::{Filling, Fragments};
use bartizan_budget::unit::{Bytes, Microseconds};
use bartizan_page::grid;
use bartizan_page::plot::{Axis, Line, Panel, Point, lines};
use bartizan_page::quantity::Shown;
use bartizan_page::sheet::Section;
use bartizan_registry::Header;
use serde::Serialize;

use super::{Args, paper};
use crate::Failure;
use crate::commands::plan::answer::us;
use crate::commands::plan::curves::{Curves, word};

/// A payload in frames.
#[derive(Serialize)]
pub(super) struct Split {
    pub(super) payload_bytes: Bytes,
    /// Least number of frames that fit.
    pub(super) fragments: u64,
    /// Layouts of the frames, by filling.
    pub(super) layouts: Vec<Layout>,
    /// Origin of the delays.
    pub(super) source: Source,
}

#[derive(Serialize)]
pub(super) struct Layout {
    pub(super) filling: Filling,
    pub(super) largest_bytes: Bytes,
    pub(super) smallest_bytes: Bytes,
    /// Processing of all frames, one after the other.
    pub(super) processing_us: Microseconds,
    /// Processing of the longest.
    pub(super) longest_us: Microseconds,
}

pub(super) fn split(args: &Args, mtu: Bytes) -> Result<Split, Failure> {
    let curves = Curves::read(&args.delay_curve)?;
    at(args, mtu, &curves)
}

fn at(args: &Args, mtu: Bytes, curves: &Curves) -> Result<Split, Failure> {
    let curve = curves.needed(&[word(Mode::Encryption), "delay", "aes256-gcm"])?;
    let room = mtu.beyond(Bytes::from(Header::ECPRI.bytes));
    let headers = Bytes::from(Header::ETHERNET.bytes) + Bytes::from(Header::ECPRI.bytes);
    let mut layouts = Vec::new();
    let mut count = 0;
    for filling in [Filling::Full, Filling::Even] {
        let fragments = Fragments::of(args.payload, room, filling).ok_or_else(|| {
            Failure::usage(format!(
                "a payload of {} in frames with {room} of it: it is between 1 byte and a million frames",
                args.payload
            ))
        })?;
        let delay = |size: Bytes| curve.at(size + headers).map_err(Failure::usage);
        let largest = fragments.sizes().max().unwrap_or_default();
        let smallest = fragments.sizes().min().unwrap_or_default();
        let mut total = Microseconds::ZERO;
        for size in fragments.sizes() {
            total = total + delay(size)?;
        }
        count = fragments.count();
        layouts.push(Layout {
            filling,
            largest_bytes: largest,
            smallest_bytes: smallest,
            processing_us: total,
            longest_us: delay(largest)?,
        });
    }
    Ok(Split {
        payload_bytes: args.payload,
        fragments: count,
        layouts,
        source: curve.source().clone(),
    })
}

pub(super) fn section(args: &Args, split: &Split) -> Result<Section, Failure> {
    let mut section = Section::new("split of a payload of fixed size");
    section.text.push(format!(
        "As few frames as fit, filled alike: none is larger than it must be, so that the longest is as short as can be, and on a curve that steepens the sum is too ({}).",
        paper()
    ));
    let caption = format!(
        "{} bytes in {} frames; processing by {}",
        split.payload_bytes.value(),
        split.fragments,
        split.source
    );
    section.tables.push(grid! { caption, layout in &split.layouts;
        "filled": match layout.filling {
            Filling::Full => "to the brim",
            Filling::Even => "alike",
        },
        "#largest": layout.largest_bytes.value().to_string(),
        "#smallest": layout.smallest_bytes.value().to_string(),
        "#us, one after the other": us(layout.processing_us),
        "#us, the longest": us(layout.longest_us),
    });
    let curves = Curves::read(&args.delay_curve)?;
    let mut longest: [Vec<Point>; 2] = [Vec::new(), Vec::new()];
    for mtu in (1400_u32..=9000).step_by(200) {
        let Ok(split) = at(args, Bytes::from(mtu), &curves) else {
            continue;
        };
        for (points, layout) in longest.iter_mut().zip(&split.layouts) {
            points.push(Point::at(f64::from(mtu), layout.longest_us.value()));
        }
    }
    let [full, even] = longest;
    if !full.is_empty() {
        let line = |name: &str, tone, points| Line {
            name: name.to_owned(),
            tone,
            points,
        };
        let axis = Axis {
            quantity: "processing of the longest frame".to_owned(),
            unit: Shown::in_unit("µs"),
        };
        let items = vec![line("filled to the brim", 1, full), line("filled alike", 0, even)];
        section.drawings.push((
            lines(
                "The longest frame by MTU",
                &axis,
                "MTU in bytes",
                &[Panel { heading: None, items }],
            ),
            format!(
                "Processing of the longest frame of {} bytes of payload, by MTU and by how frames are filled.",
                args.payload.value()
            ),
        ));
    }
    Ok(section)
}
