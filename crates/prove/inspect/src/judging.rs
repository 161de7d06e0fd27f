//! Judgement of an observer's evidence, as it ends.

use bartizan_posture::{
    Evidence, Ipsec, JudgedEspSa, JudgedIkeSa, Ledgers, Part, Posture, association_posture, datagrams_posture,
};
use bartizan_wire::datagrams::Datagrams;
use bartizan_wire::esp::EspSa;
use bartizan_wire::ike::IkeSa;
use bartizan_wire::sctp::Association;
use bartizan_wire::{Connection, Omitted, Sink};

use crate::conversation::Conversation;
use crate::follow::Recent;
use crate::report::Report;

/// A receiver of each conversation with its posture, next to the report: a bill of materials.
pub trait Recorder {
    /// A TCP connection, with what it was judged by.
    fn connection(&mut self, connection: &Connection, posture: &Posture, evidence: &Evidence<'_>);

    /// An SCTP association.
    fn association(&mut self, association: &Association, posture: &Posture);

    /// A protocol over UDP.
    fn datagrams(&mut self, datagrams: &Datagrams, posture: &Posture);

    /// An IKE_SA.
    fn ike(&mut self, judged: &JudgedIkeSa, ledgers: &Ledgers);

    /// An ESP security association.
    fn esp(&mut self, judged: &JudgedEspSa, ledgers: &Ledgers);
}

bartizan_registry::made! {
    /// Judges what an observer gives, as it ends; IPsec when all of it is there.
    pub struct Judging<'a>,
    /// Into a report, joined with what ledgers say.
    pub new(ledgers: &'a Ledgers, report: &'a mut Report) {
        ledgers: &'a Ledgers,
        report: &'a mut Report,
        recorder: Option<&'a mut dyn Recorder> = None,
        ipsec: Ipsec = Ipsec::default(),
        /// Parts that ended of late, for a reader that follows them.
        recent: Option<&'a mut Recent> = None,
    }
}

impl<'a> Judging<'a> {
    /// The same, which tells a recorder too.
    #[must_use]
    pub fn with_recorder(self, recorder: Option<&'a mut dyn Recorder>) -> Self {
        Self { recorder, ..self }
    }

    /// The same, which keeps what has ended for a view as well.
    #[must_use]
    pub fn with_recent(self, recent: Option<&'a mut Recent>) -> Self {
        Self { recent, ..self }
    }

    fn take(&mut self, part: &Part<'_>, posture: &Posture) {
        self.report.take(part);
        if let Some(recent) = &mut self.recent {
            recent.add(part, posture);
        }
    }

    /// Judges what IPsec came.
    pub fn finish(mut self) {
        let mut judged = std::mem::take(&mut self.ipsec).judge_ike(self.ledgers);
        for ike in &judged.ike {
            if let Some(recorder) = &mut self.recorder {
                recorder.ike(ike, self.ledgers);
            }
            self.take(&Part::ike(ike), &ike.posture);
        }
        for ike in &judged.ike {
            self.report.add(Conversation::ike(ike.clone()));
        }
        judged.judge_esp(self.ledgers, |esp| {
            if let Some(recorder) = &mut self.recorder {
                recorder.esp(&esp, self.ledgers);
            }
            self.take(&Part::esp(&esp), &esp.posture);
            self.report.add(Conversation::esp(esp));
        });
    }
}

impl Sink for Judging<'_> {
    fn connection(&mut self, connection: Connection) {
        let evidence = Evidence::new(&connection, self.ledgers);
        let posture = evidence.posture();
        if let Some(recorder) = &mut self.recorder {
            recorder.connection(&connection, &posture, &evidence);
        }
        self.take(&Part::connection(&connection, &posture), &posture);
        self.report.add(Conversation::new(&connection, posture));
    }

    fn association(&mut self, association: Association) {
        let posture = association_posture(&association);
        if let Some(recorder) = &mut self.recorder {
            recorder.association(&association, &posture);
        }
        self.take(&Part::association(&association, &posture), &posture);
        self.report.add(Conversation::association(association, posture));
    }

    fn datagrams(&mut self, datagrams: Datagrams) {
        let posture = datagrams_posture(&datagrams, self.ledgers);
        if let Some(recorder) = &mut self.recorder {
            recorder.datagrams(&datagrams, &posture);
        }
        self.take(&Part::datagrams(&datagrams, &posture), &posture);
        self.report.add(Conversation::datagrams(datagrams, posture));
    }

    fn omitted(&mut self, omitted: Omitted) {
        self.report.omit(&omitted);
        if let Some(recent) = &mut self.recent {
            recent.omit(&omitted);
        }
    }

    fn ike_sa(&mut self, sa: IkeSa) {
        self.ipsec.add_ike(sa);
    }

    fn esp_sa(&mut self, sa: EspSa) {
        self.ipsec.add_esp(sa);
    }
}
