//! Two socats, as published work bridges N2: one copies what it reads from SCTP into TLS, the other
//! what it reads from TLS into SCTP.

use std::fs;

use bartizan_host::Program;

use super::pair::{ENDS, Setting};
use crate::Error;

/// SCTP_NODELAY on a connected socket, by level and number (linux/in.h, linux/sctp.h): this socat has no name for it.
const NO_DELAY: &str = "setsockopt-int=132:3:1";

/// The programs of both ends, the gNB's first. TLS 1.3 with the group alone, both ends
/// authenticated; no delay for more to come, on any socket.
pub(super) fn programs(setting: &Setting<'_>) -> Result<[Program; 2], Error> {
    let places = setting.places;
    let configuration = setting.folder.join("openssl.cnf");
    let text = format!(
        "openssl_conf = all\n[all]\nssl_conf = ssl\n[ssl]\nsystem_default = tls\n[tls]\nMinProtocol = TLSv1.3\nGroups = {}\n",
        setting.group
    );
    fs::write(&configuration, text).map_err(Error::file(&configuration))?;
    let root = setting.tools.root.as_ref();
    let root = root.ok_or_else(|| Error::Configuration("no lab root".to_owned()))?;
    let papers = |end: usize| {
        let identity = setting.papers.identity(end);
        format!("cert={identity}.crt.pem,key={identity}.key.pem,cafile=ca.crt.pem,verify=1,nodelay")
    };
    let end = |end: usize, from: String, to: String| {
        let program = root.command("socat")?.arguments([from, to]);
        let program = program.environment("OPENSSL_CONF", &configuration);
        // Names of files in its arguments are those of the folder: its addresses give commas and colons a meaning.
        let program = program.directory(setting.papers.folder()).inside(setting.host(end));
        Ok::<_, Error>(program.log(setting.folder.join(format!("{}.log", ENDS[end]))))
    };
    let gnb = end(
        0,
        format!(
            "SCTP4-LISTEN:{},bind={},reuseaddr,fork,{NO_DELAY}",
            places.entry.port(),
            places.entry.ip()
        ),
        format!(
            "OPENSSL:{},{},commonname={}",
            places.middle,
            papers(0),
            setting.papers.identity(1)
        ),
    )?;
    let amf = end(
        1,
        format!(
            "OPENSSL-LISTEN:{},bind={},reuseaddr,fork,{}",
            places.middle.port(),
            places.middle.ip(),
            papers(1)
        ),
        format!("SCTP4-CONNECT:{},{NO_DELAY}", places.service),
    )?;
    Ok([gnb, amf])
}
