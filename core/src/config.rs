//! The network configuration: what ADD, CHECK and STATUS need in full, and
//! the little that DEL and GC need.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::net::IpAddr;

use ipnet::IpNet;

use crate::address::{AddressError, parse_address, parse_prefix, parse_request};
use crate::args::{self, Args, ArgsError};
use crate::json::{Field, JsonError, Object};
use crate::names::NetworkName;
use crate::policy::OnFailure;
use crate::range::{Range, RangeError, RangeSpec};
use crate::range_set::{RangeSet, RangeSetError};
use crate::route::Route;
use crate::settings::{self, Choosing, Strategy};
use crate::span::Span;
use crate::spans::{SpanError, Spans};
use crate::store::Location;
use crate::version::Version;

/// How long an invocation waits for the lock where `lockWaitSeconds` is not
/// set. The shortest time limit among the runtimes is much longer.
pub const DEFAULT_LOCK_WAIT_MS: u32 = 10_000;

/// Longest wait that can be set, in seconds.
pub const MAX_LOCK_WAIT_SECONDS: u64 = 3600;

/// Why a configuration cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// A value is of the wrong type.
    Json(JsonError),
    /// A text is no address or prefix.
    Address {
        /// The field.
        path: String,
        /// What it holds.
        found: String,
        /// What is wrong with it.
        cause: AddressError,
    },
    /// There is no `ipam`.
    NoIpam,
    /// Neither `subnet` nor `ranges` nor `runtimeConfig.ipRanges`.
    NoRanges,
    /// A range is refused.
    Range {
        /// Number of its set, counted from 0.
        set: usize,
        /// The fault.
        cause: RangeError,
    },
    /// A set is refused.
    RangeSet {
        /// Its number, counted from 0.
        set: usize,
        /// The fault.
        cause: RangeSetError,
    },
    /// Two sets share addresses.
    SetsOverlap(usize, usize),
    /// More than one address of a family, before version 0.3.0.
    OnePerFamily(String),
    /// A requested address is empty or `null`.
    EmptyRequest {
        /// The field.
        path: String,
    },
    /// A setting has a value it cannot have.
    Setting {
        /// The field.
        path: String,
        /// What it holds.
        found: String,
        /// What it can hold.
        wanted: &'static str,
    },
    /// A number is out of bounds.
    Limit {
        /// The field.
        path: String,
        /// What it holds.
        found: u64,
        /// Most it can hold; the least is 1.
        most: u64,
    },
    /// A field that nobody reads, where all fields are ours.
    UnknownSetting {
        /// The field.
        path: String,
        /// Those that are read there.
        known: &'static [&'static str],
    },
    /// A text names no addresses.
    Span {
        /// The field.
        path: String,
        /// What it holds.
        found: String,
        /// What is wrong with it.
        cause: SpanError,
    },
    /// `CNI_ARGS` cannot be used.
    Args(ArgsError),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(error) => error.fmt(f),
            Self::Address { path, found, cause } => write!(f, "{path}: {cause} {found:?}"),
            Self::NoIpam => f.write_str("IPAM config missing 'ipam' key"),
            Self::NoRanges => f.write_str(
                "no IP ranges specified: wanted ipam.subnet, ipam.ranges or runtimeConfig.ipRanges",
            ),
            Self::Range { set, cause } => write!(f, "invalid range set {set}: {cause}"),
            Self::RangeSet { set, cause } => write!(f, "invalid range set {set}: {cause}"),
            Self::SetsOverlap(a, b) => write!(f, "range set {a} overlaps with {b}"),
            Self::OnePerFamily(version) => write!(
                f,
                "CNI version {version} does not support more than 1 address per family"
            ),
            Self::EmptyRequest { path } => {
                write!(
                    f,
                    "{path}: cannot understand ip: wanted an address, found nothing"
                )
            }
            Self::Setting {
                path,
                found,
                wanted,
            } => {
                write!(f, "{path}: wanted {wanted}, found {found}")
            }
            Self::Limit { path, found, most } => {
                write!(f, "{path}: wanted 1 to {most}, found {found}")
            }
            Self::UnknownSetting { path, known } => {
                write!(f, "{path}: unknown; wanted one of {}", known.join(", "))
            }
            Self::Span { path, found, cause } => write!(f, "{path}: {found:?}: {cause}"),
            Self::Args(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ConfigError {}

impl From<JsonError> for ConfigError {
    fn from(error: JsonError) -> Self {
        Self::Json(error)
    }
}

impl Object<'_> {
    /// The error for an address or prefix at `name` that is none.
    pub(crate) fn invalid(&self, name: &str, found: &str, cause: AddressError) -> ConfigError {
        let path = self
            .get(name)
            .map_or_else(|| self.path_of(name), |f| f.path().to_owned());
        ConfigError::Address {
            path,
            found: found.to_owned(),
            cause,
        }
    }
}

/// An address that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The address.
    pub address: IpAddr,
    /// The prefix length written with it, which is not used: the subnet's is.
    pub prefix: Option<u8>,
    /// Where it was asked for.
    pub source: String,
}

/// What a second ADD for the same attachment gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RepeatedAdd {
    /// An error, as the specification says.
    #[default]
    Error,
    /// The addresses it holds, unless it asks for another one.
    Return,
}

/// A configuration that can be allocated from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Range sets: those of `runtimeConfig.ipRanges`, then `subnet`, then
    /// `ranges`. Each ADD takes one address from each.
    pub sets: Vec<RangeSet>,
    /// Requested addresses, each once.
    pub requests: Vec<Request>,
    /// `ipam.routes`.
    pub routes: Vec<Route>,
    /// `ipam.resolvConf`, a path.
    pub resolv_conf: Option<String>,
    /// `ipam.repeatedAdd`.
    pub repeated_add: RepeatedAdd,
    /// `exclude`, of `ipam` and of its ranges: given to nobody.
    pub exclude: Spans,
    /// `static`, likewise: given only to those who ask for it.
    pub reserved_for_requests: Spans,
    /// How an address is chosen.
    pub choosing: Choosing,
    /// `CNI_ARGS`, as pairs of key and value.
    pub args: Vec<(String, String)>,
    /// What looks like a mistake without being an error.
    pub warnings: Vec<String>,
}

/// Where the network's reservations are: all that DEL and GC need to know.
///
/// `complain` hears of settings that are unusable; their defaults count then.
pub fn location(
    document: &Object<'_>,
    network: NetworkName,
    mut complain: impl FnMut(ConfigError),
) -> Result<Location, ConfigError> {
    let ipam = document.object("ipam")?;
    let lock_wait_ms = lock_wait(&ipam).unwrap_or_else(|error| {
        complain(error);
        DEFAULT_LOCK_WAIT_MS
    });
    let sync = ipam.boolean("sync").unwrap_or_else(|error| {
        complain(error.into());
        false
    });
    let data_dir = ipam.text("dataDir")?.unwrap_or_default();
    Ok(Location {
        data_dir,
        network,
        lock_wait_ms,
        sync,
        history: false,
    })
}

fn lock_wait(ipam: &Object<'_>) -> Result<u32, ConfigError> {
    let Some(field) = ipam.get("lockWaitSeconds") else {
        return Ok(DEFAULT_LOCK_WAIT_MS);
    };
    match field.unsigned()? {
        seconds @ 0..=MAX_LOCK_WAIT_SECONDS => {
            Ok(u32::try_from(seconds * 1000).unwrap_or(DEFAULT_LOCK_WAIT_MS))
        }
        seconds => Err(ConfigError::Setting {
            path: field.path().to_owned(),
            found: format!("{seconds}"),
            wanted: "0 to 3600",
        }),
    }
}

impl Config {
    /// Reads the configuration and `CNI_ARGS`.
    pub fn read(document: &Object<'_>, args: &str, version: Version) -> Result<Self, ConfigError> {
        if document.last("ipam").is_none_or(|ipam| ipam.is_null()) {
            return Err(ConfigError::NoIpam);
        }
        let ipam = document.object("ipam")?;
        ipam.text("type")?;
        let runtime = document.object("runtimeConfig")?;
        let mut warnings = Vec::new();
        misplaced(document, &ipam, &mut warnings);

        warnings.extend(settings::slips(&ipam));

        let choosing = Choosing::read(&ipam)?;
        let pairs = args::pairs(args);
        let sticky = choosing.sticky.iter().flat_map(|sticky| &sticky.args);
        let known: Vec<&str> = sticky.map(String::as_str).collect();
        let args = Args::parse(args, &known).map_err(ConfigError::Args)?;
        let requests = requests(document, &runtime, &args)?;
        let mut sets = sets(&ipam, &runtime)?;
        let exclude = everywhere(&ipam, &runtime, "exclude")?;
        let reserved_for_requests = everywhere(&ipam, &runtime, "static")?;
        let gateways = sets.iter().flat_map(RangeSet::ranges);
        let gateways = gateways.filter_map(|range| Span::new(range.gateway()?, range.gateway()?));
        let barred: Vec<Span> = gateways
            .chain(exclude.iter())
            .chain(reserved_for_requests.iter())
            .collect();
        for set in &mut sets {
            set.bar(&barred);
        }
        if version < Version::V0_3_0 {
            let of = |is_ipv4| sets.iter().filter(|set| set.is_ipv4() == is_ipv4).count();
            if of(true) > 1 || of(false) > 1 {
                let asked = document.text("cniVersion")?.unwrap_or_default();
                return Err(ConfigError::OnePerFamily(asked));
            }
        }
        let mut routes = Vec::new();
        for route in ipam.list("routes")? {
            // A null in the list is as good as nothing there.
            if !route.is_null() {
                routes.push(Route::read(&route.object()?)?);
            }
        }
        let config = Self {
            sets,
            requests,
            routes,
            resolv_conf: ipam.text("resolvConf")?.filter(|path| !path.is_empty()),
            repeated_add: repeated_add(&ipam)?,
            exclude,
            reserved_for_requests,
            choosing,
            args: pairs,
            warnings,
        };
        // Read with the rest so that ADD reports what DEL would pass over.
        lock_wait(&ipam)?;
        ipam.boolean("sync")?;
        Ok(config.with_prefix_warnings().with_choosing_warnings())
    }

    /// Whether `exclude` or `static` name addresses of a set.
    pub(crate) fn bars_some_of(&self, set: &RangeSet) -> bool {
        let lists = [&self.exclude, &self.reserved_for_requests];
        let mut ranges = set.ranges().iter().map(Range::span);
        ranges.any(|range| lists.iter().any(|list| !list.overlapping(range).is_empty()))
    }

    /// Settings that contradict each other, or come to nothing.
    fn with_choosing_warnings(mut self) -> Self {
        let mut say = |text: String| self.warnings.push(text);
        for (name, spans) in [
            ("exclude", &self.exclude),
            ("static", &self.reserved_for_requests),
        ] {
            for span in spans.iter() {
                let ranges = self.sets.iter().flat_map(RangeSet::ranges);
                let whole = |subnet: IpNet| Span::new(subnet.network(), subnet.broadcast());
                let mut subnets = ranges.filter_map(|range| whole(range.subnet()));
                if !subnets.any(|subnet| subnet.overlaps(&span)) {
                    say(format!("{name}: {span} is outside of every subnet"));
                }
            }
        }
        for span in self.reserved_for_requests.iter() {
            if !self.choosing.request_excluded
                && let Some(both) = self.exclude.overlapping(span).first()
            {
                say(format!(
                    "static: {span} is for requests, but exclude has {both}, which may not be \
                     requested"
                ));
            }
        }
        let Choosing {
            strategy,
            sticky,
            policy,
            ..
        } = &self.choosing;
        if let Some(sticky) = sticky
            && sticky.keep_ms == 0
        {
            say("sticky.keepSeconds is 0: others get the address at once".to_string());
        }
        if let Some(policy) = policy
            && *strategy != Strategy::RoundRobin
            && policy.on_failure == OnFailure::Deny
        {
            say(format!(
                "strategy {:?} counts only where the policy leaves the choice",
                strategy.name()
            ));
        }
        self
    }

    fn with_prefix_warnings(mut self) -> Self {
        for request in &self.requests {
            let range = self.sets.iter().find_map(|set| set.find(request.address));
            let (Some(range), Some(prefix)) = (range, request.prefix) else {
                continue;
            };
            let subnet = range.subnet();
            // A full-length prefix says "this address", not "this subnet".
            if prefix != subnet.prefix_len() && prefix != subnet.max_prefix_len() {
                self.warnings.push(format!(
                    "{}: {}/{prefix} contradicts the subnet {subnet}; /{} is used",
                    request.source,
                    request.address,
                    subnet.prefix_len()
                ));
            }
        }
        self
    }
}

fn repeated_add(ipam: &Object<'_>) -> Result<RepeatedAdd, ConfigError> {
    let Some(field) = ipam.get("repeatedAdd") else {
        return Ok(RepeatedAdd::Error);
    };
    match field.text()?.as_str() {
        "error" => Ok(RepeatedAdd::Error),
        "return" => Ok(RepeatedAdd::Return),
        found => Err(ConfigError::Setting {
            path: field.path().to_owned(),
            found: format!("{found:?}"),
            wanted: "\"error\" or \"return\"",
        }),
    }
}

fn sets(ipam: &Object<'_>, runtime: &Object<'_>) -> Result<Vec<RangeSet>, ConfigError> {
    let mut specs = Vec::new();
    for set in runtime.list("ipRanges")? {
        specs.push(range_specs(&set)?);
    }
    // `subnet: ""` is a mistake, no subnet at all is not.
    if ipam.last("subnet").is_some() {
        specs.push([range_spec(ipam)?].into());
    }
    for set in ipam.list("ranges")? {
        specs.push(range_specs(&set)?);
    }
    if specs.is_empty() {
        return Err(ConfigError::NoRanges);
    }
    let mut sets: Vec<RangeSet> = Vec::new();
    for (set, specs) in specs.iter().enumerate() {
        let ranges: Result<Vec<_>, _> = specs.iter().map(Range::new).collect();
        let ranges = ranges.map_err(|cause| ConfigError::Range { set, cause })?;
        let made = RangeSet::new(ranges).map_err(|cause| ConfigError::RangeSet { set, cause })?;
        sets.push(made);
    }
    for (n, set) in sets.iter().enumerate() {
        if let Some(other) = sets[n + 1..].iter().position(|other| set.overlaps(other)) {
            return Err(ConfigError::SetsOverlap(n, n + 1 + other));
        }
    }
    Ok(sets)
}

/// The addresses that a field names, of `ipam` itself and of every range.
fn everywhere(ipam: &Object<'_>, runtime: &Object<'_>, name: &str) -> Result<Spans, ConfigError> {
    let mut all: Vec<Span> = settings::spans(ipam, name)?.iter().collect();
    for set in runtime
        .list("ipRanges")?
        .iter()
        .chain(&ipam.list("ranges")?)
    {
        for range in set.list()? {
            all.extend(settings::spans(&range.object()?, name)?.iter());
        }
    }
    Ok(all.into_iter().collect())
}

fn range_specs(set: &Field<'_>) -> Result<Vec<RangeSpec>, ConfigError> {
    set.list()?
        .iter()
        .map(|range| range_spec(&range.object()?))
        .collect()
}

fn range_spec(range: &Object<'_>) -> Result<RangeSpec, ConfigError> {
    let subnet = range.text("subnet")?.unwrap_or_default();
    let address = |name| -> Result<Option<IpAddr>, ConfigError> {
        match range.text(name)?.filter(|text| !text.is_empty()) {
            None => Ok(None),
            Some(text) => parse_address(&text)
                .map(Some)
                .map_err(|cause| range.invalid(name, &text, cause)),
        }
    };
    Ok(RangeSpec {
        subnet: parse_prefix(&subnet).map_err(|cause| range.invalid("subnet", &subnet, cause))?,
        start: address("rangeStart")?,
        end: address("rangeEnd")?,
        gateway: address("gateway")?,
        gateway_on_link: range.boolean("gatewayOnLink")?,
    })
}

fn requests(
    document: &Object<'_>,
    runtime: &Object<'_>,
    args: &Args,
) -> Result<Vec<Request>, ConfigError> {
    let mut requests: Vec<Request> = Vec::new();
    let mut add = |request: Request| {
        if !requests
            .iter()
            .any(|known| known.address == request.address)
        {
            requests.push(request);
        }
    };
    if let Some((address, prefix)) = args.ip {
        add(Request {
            address,
            prefix,
            source: "CNI_ARGS IP".to_owned(),
        });
    }
    let in_args = document.object("args")?.object("cni")?.list("ips")?;
    for field in in_args.iter().chain(&runtime.list("ips")?) {
        let path = field.path();
        let text = if field.is_null() {
            String::new()
        } else {
            field.text()?
        };
        if text.is_empty() {
            return Err(ConfigError::EmptyRequest {
                path: path.to_owned(),
            });
        }
        let (address, prefix) = parse_request(&text).map_err(|cause| ConfigError::Address {
            path: path.to_owned(),
            found: text.clone(),
            cause,
        })?;
        add(Request {
            address,
            prefix,
            source: path.to_owned(),
        });
    }
    Ok(requests)
}

/// Fields that people write where nothing reads them.
fn misplaced(document: &Object<'_>, ipam: &Object<'_>, warnings: &mut Vec<String>) {
    const REQUESTS: &str = "addresses are requested by args.cni.ips, runtimeConfig.ips or IP in \
                            CNI_ARGS";
    const RANGES: &str = "ranges are read from ipam";
    let mut look = |object: Option<&Object<'_>>, names: &[&str], instead: &str| {
        for field in names.iter().filter_map(|name| object?.get(name)) {
            warnings.push(format!("{} is not read: {instead}", field.path()));
        }
    };
    look(Some(ipam), &["args", "ips", "ip"], REQUESTS);
    look(
        document.object("args").ok().as_ref(),
        &["ips", "ip"],
        REQUESTS,
    );
    look(
        document.object("runtimeConfig").ok().as_ref(),
        &["ip"],
        REQUESTS,
    );
    look(Some(document), &["ips", "ip"], REQUESTS);
    look(
        Some(document),
        &["subnet", "ranges", "rangeStart", "rangeEnd"],
        RANGES,
    );
}
