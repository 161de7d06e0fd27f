//! Programs we did not write on both outer ends: curl asks, nghttpd answers, neither knows of a sidecar.

use std::fs;
use std::path::Path;
use std::time::Duration;

use bartizan_host::{Process, Program};
use bartizan_testing::Listening as _;
use serde::Serialize;

use crate::Failure;
use crate::commands::demo::core;
use crate::commands::demo::failed;
use crate::commands::demo::stage::Stage;

/// Document that nghttpd serves, similar to a response of an NRF.
const DOCUMENT: &str =
    r#"{"nfInstanceId":"5c6c0c3a-7c7d-4c0e-9b0a-0b6ad2b8e5f1","nfType":"NEF","nfStatus":"REGISTERED"}"#;
const FILE: &str = "nf-instance.json";
/// A body that does not fit into one flow-control window.
const UPLOAD: usize = 1 << 20;

/// One exchange between them.
#[derive(Debug, Serialize)]
pub(super) struct Exchange {
    pub(super) what: &'static str,
    pub(super) answer: String,
}

/// Starts nghttpd as the network function behind the first producer's sidecar.
pub(super) fn serve(stage: &Stage, folder: &Path) -> Result<Process, Failure> {
    let root = folder.join("htdocs");
    fs::create_dir_all(&root)
        .and_then(|()| fs::write(root.join(FILE), DOCUMENT))
        .map_err(|error| Failure::new(format!("{}: {error}", root.display())))?;
    let address = core::function_address(stage, 0);
    let program =
        Program::new("nghttpd")
            .package("nghttp2-server")
            .arguments(["--no-tls", "--echo-upload", "--address"]);
    let program = program
        .argument(address.ip().to_string())
        .argument("--htdocs")
        .argument(&root);
    let mut process = stage
        .at_producers(program.argument(address.port().to_string()))
        .start()
        .map_err(failed)?;
    process
        .wait_for_port(address, Duration::from_secs(60))
        .map_err(failed)?;
    Ok(process)
}

/// A document down, and a megabyte up and back.
pub(super) fn ask(stage: &Stage, folder: &Path) -> Result<Vec<Exchange>, Failure> {
    let local = core::local_address(stage, 0);
    let (answer, body) = curl(stage, &[], &format!("http://{local}/{FILE}"), &folder.join("answer"))?;
    if body != DOCUMENT.as_bytes() {
        return Err(Failure::new("curl received another document than nghttpd has"));
    }
    let upload = folder.join("upload");
    let bytes: Vec<u8> = (0..UPLOAD)
        .map(|index| b'a' + u8::try_from(index * 7 % 26).unwrap_or(0))
        .collect();
    fs::write(&upload, &bytes).map_err(|error| Failure::new(format!("{}: {error}", upload.display())))?;
    let data = format!("@{}", upload.display());
    let url = format!("http://{local}/echo");
    let (echo, body) = curl(stage, &["--data-binary", &data], &url, &folder.join("echo"))?;
    if body != bytes {
        return Err(Failure::new(format!(
            "1 MB sent by curl came back as {} other bytes",
            body.len()
        )));
    }
    Ok(vec![
        Exchange {
            what: "GET a document",
            answer,
        },
        Exchange {
            what: "POST 1 MB, echoed byte for byte",
            answer: echo,
        },
    ])
}

/// Gives "HTTP/2 200, 96 bytes" and the body.
fn curl(stage: &Stage, more: &[&str], url: &str, file: &Path) -> Result<(String, Vec<u8>), Failure> {
    let program = Program::new("curl").package("curl").arguments([
        "--silent",
        "--show-error",
        "--fail-with-body",
        "--http2-prior-knowledge",
        "--max-time",
        "30",
        "--write-out",
        "HTTP/%{http_version} %{response_code}, %{size_download} bytes down, %{size_upload} up",
        "--output",
    ]);
    let program = program.argument(file).arguments(more).argument(url);
    let finished = stage
        .at_consumers(program)
        .run(Duration::from_secs(45))
        .map_err(failed)?;
    let body = fs::read(file).map_err(|error| Failure::new(format!("{}: {error}", file.display())))?;
    Ok((finished.text(), body))
}
