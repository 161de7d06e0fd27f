//! A session with a token: its module loaded, its slot found, its user logged in.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use cryptoki::context::{CInitializeArgs, CInitializeFlags, Pkcs11};
use cryptoki::error::{Error as CryptokiError, RvError};
use cryptoki::session::{Session, SessionState, UserType};
use cryptoki::slot::{Slot, TokenInfo};
use cryptoki::types::AuthPin;

use super::{failed, named};
use crate::Error;
use crate::token::uri::Module as Named;
use crate::token::{Pin, Pkcs11Uri, TokenFault};

/// Modules of this process. None is unloaded: C_Finalize would end the sessions of every key.
static MODULES: Mutex<BTreeMap<PathBuf, Pkcs11>> = Mutex::new(BTreeMap::new());

/// A login: the module, the token's serial number and the PIN.
type Attempt = (PathBuf, String, Option<Pin>);

/// Logins of this process that were refused. None is tried again, because tokens lock.
static REFUSED: Mutex<Vec<(Attempt, TokenFault)>> = Mutex::new(Vec::new());

/// Directories into which distributions put modules that are named without their path.
const DIRECTORIES: [&str; 9] = [
    "/usr/lib/pkcs11",
    "/usr/lib64/pkcs11",
    "/usr/lib/x86_64-linux-gnu/pkcs11",
    "/usr/lib/aarch64-linux-gnu/pkcs11",
    "/usr/local/lib/pkcs11",
    "/usr/lib/softhsm",
    "/usr/lib/x86_64-linux-gnu/softhsm",
    "/usr/lib/aarch64-linux-gnu/softhsm",
    "/usr/local/lib/softhsm",
];

/// Purpose of a session.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Keys are used.
    Read,
    /// Keys are made.
    Write,
}

/// A session, and what messages name it by.
pub(super) struct Token {
    pub(super) session: Session,
    pub(super) label: String,
    module: Module,
    slot: Slot,
}

/// A module that is loaded.
#[derive(Clone)]
struct Module {
    functions: Pkcs11,
    path: PathBuf,
}

impl Token {
    /// Loads the module, finds the one token that fits, and logs in with the PIN if it needs one: once.
    pub(super) fn open(uri: &Pkcs11Uri, pin: Option<&Pin>, access: Access) -> Result<Self, Error> {
        let named = named(uri);
        let module = load(&uri.module).map_err(&named)?;
        let (slot, info) = find(&module.functions, uri).map_err(&named)?;
        let session = match access {
            Access::Read => module.functions.open_ro_session(slot),
            Access::Write => module.functions.open_rw_session(slot),
        };
        let session = session.map_err(|error| named(failed(&error)))?;
        login(&session, &module, &info, uri, pin)?;
        Ok(Self {
            session,
            label: info.label().to_owned(),
            module,
            slot,
        })
    }

    /// The mechanisms that the token has.
    pub(super) fn mechanisms(&self) -> Result<Vec<cryptoki::mechanism::MechanismType>, TokenFault> {
        self.module
            .functions
            .get_mechanism_list(self.slot)
            .map_err(|error| failed(&error))
    }

    /// The module's file, and what it calls itself.
    pub(super) fn module(&self) -> String {
        let path = self.module.path.display();
        match self.module.functions.get_library_info() {
            Ok(info) => {
                let (maker, version) = (info.manufacturer_id().trim(), info.library_version());
                format!("{path}, {maker} {version}")
            }
            Err(_) => path.to_string(),
        }
    }
}

fn load(module: &Named) -> Result<Module, TokenFault> {
    let (name, found) = match module {
        Named::Path(path) => (path.display().to_string(), path.exists().then(|| path.clone())),
        Named::Name(name) => (name.clone(), search(name)),
    };
    let refuse = |reason: String| TokenFault::Module {
        module: name.clone(),
        reason,
    };
    let path = found.ok_or_else(|| {
        refuse(match module {
            Named::Path(_) => "no such file".to_owned(),
            Named::Name(_) => format!("no file of this name in {}", DIRECTORIES.join(", ")),
        })
    })?;
    let path = path.canonicalize().map_err(|error| refuse(error.to_string()))?;
    let mut modules = MODULES.lock().unwrap_or_else(PoisonError::into_inner);
    let functions = match modules.get(&path) {
        Some(functions) => functions.clone(),
        None => {
            let functions = Pkcs11::new(&path).map_err(|error| refuse(error.to_string()))?;
            modules.insert(path.clone(), functions.clone());
            functions
        }
    };
    // Again for one that is loaded: a key that lost its session may have lost the whole library.
    match functions.initialize(CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK)) {
        Ok(()) | Err(CryptokiError::Pkcs11(RvError::CryptokiAlreadyInitialized, _)) => Ok(Module { functions, path }),
        Err(error) => Err(refuse(failed(&error).to_string())),
    }
}

/// `module-name` is without `lib` in front and `.so` behind (RFC 7512, section 2.3).
fn search(name: &str) -> Option<PathBuf> {
    let (library, plain) = (format!("lib{name}.so"), format!("{name}.so"));
    DIRECTORIES
        .iter()
        .flat_map(|directory| [&library, &plain].map(|file| PathBuf::from(directory).join(file)))
        .find(|path| path.is_file())
}

fn find(module: &Pkcs11, uri: &Pkcs11Uri) -> Result<(Slot, TokenInfo), TokenFault> {
    let slots = module.get_slots_with_token().map_err(|error| failed(&error))?;
    // A slot whose token went away meanwhile has no information to give.
    let tokens: Vec<(Slot, TokenInfo)> = slots
        .into_iter()
        .filter_map(|slot| Some((slot, module.get_token_info(slot).ok()?)))
        .filter(|(_, info)| info.token_initialized())
        .collect();
    let fits = |wanted: &Option<String>, found: &str| wanted.as_deref().is_none_or(|wanted| wanted == found.trim_end());
    let fitting = |(slot, info): &&(Slot, TokenInfo)| {
        fits(&uri.token, info.label())
            && fits(&uri.manufacturer, info.manufacturer_id())
            && fits(&uri.serial, info.serial_number())
            && fits(&uri.model, info.model())
            && uri.slot.is_none_or(|wanted| wanted == slot.id())
    };
    let described = |(_, info): &(Slot, TokenInfo)| format!("{} (serial {})", info.label(), info.serial_number());
    let found: Vec<_> = tokens.iter().filter(fitting).collect();
    match found[..] {
        [(slot, info)] => Ok((*slot, info.clone())),
        [] => Err(TokenFault::NoToken(tokens.iter().map(described).collect())),
        _ => Err(TokenFault::SeveralTokens(found.into_iter().map(described).collect())),
    }
}

/// Logs in, unless another session of this process has: the state is one for all of them.
fn login(
    session: &Session,
    module: &Module,
    info: &TokenInfo,
    uri: &Pkcs11Uri,
    pin: Option<&Pin>,
) -> Result<(), Error> {
    let named = named(uri);
    let state = session
        .get_session_info()
        .map_err(|error| named(failed(&error)))?
        .session_state();
    if !info.login_required() || matches!(state, SessionState::RoUser | SessionState::RwUser) {
        return Ok(());
    }
    let token = || info.label().to_owned();
    if info.user_pin_locked() {
        return Err(named(TokenFault::PinLocked(token())));
    }
    let pin = match (&uri.pin_source, pin) {
        // The token has a keypad of its own.
        _ if info.protected_authentication_path() => None,
        (Some(path), _) => Some(Pin::from_file(path)?),
        (None, Some(pin)) => Some(pin.clone()),
        (None, None) => return Err(named(TokenFault::PinNeeded(token()))),
    };
    // A service that is started again and again with an old PIN would lock the token.
    if info.user_pin_final_try() && pin.is_some() {
        return Err(named(TokenFault::LastAttempt(token())));
    }
    let attempt: Attempt = (module.path.clone(), info.serial_number().to_owned(), pin);
    let mut refused = REFUSED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, fault)) = refused.iter().find(|(known, _)| *known == attempt) {
        return Err(named(fault.clone()));
    }
    let pin = attempt.2.as_ref().map(|pin| AuthPin::from(pin.as_str()));
    let fault = match session.login(UserType::User, pin.as_ref()) {
        Ok(()) | Err(CryptokiError::Pkcs11(RvError::UserAlreadyLoggedIn, _)) => return Ok(()),
        Err(CryptokiError::Pkcs11(RvError::PinIncorrect | RvError::PinInvalid | RvError::PinLenRange, _)) => {
            TokenFault::WrongPin(token())
        }
        Err(CryptokiError::Pkcs11(RvError::PinLocked, _)) => TokenFault::PinLocked(token()),
        Err(error) => return Err(named(failed(&error))),
    };
    refused.push((attempt, fault.clone()));
    Err(named(fault))
}
