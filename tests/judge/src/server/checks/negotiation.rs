//! Checks of the options, sizes and character sets that are agreed on at Init (Z39.50-2003 §3.2.1.1.3, §3.2.1.1.4, §4.3).

use z3950_asn1::apdu::{InitializeResponse, Options, OtherInformation, ProtocolVersion};
use z3950_asn1::format::charset_negotiation::{CharSetandLanguageNegotiation, OriginProposal};
use z3950_asn1::types::Bits;

use crate::server::check::{Check, checks};
use crate::server::requests::MAX;
use crate::server::trial::{Trial, summary};
use crate::server::verdict::{Checked, Preparation, Verdict, want};

const OPTIONS: &str = "Z39.50-2003 §3.2.1.1.3";
const SIZES: &str = "Z39.50-2003 §3.2.1.1.4";

pub(super) const CHECKS: &[Check] = checks! {
    "options.proposed-only" Should OPTIONS:
        "Only options that the client proposed are granted."
        => proposed_only(Options::SEARCH.union(Options::PRESENT));
    "options.none" Should OPTIONS:
        "A client that proposes no option gets none."
        => proposed_only(Options::default());
    "options.named-sets-alone" Should OPTIONS:
        "Scan and sort are not granted to a client that proposes only named result sets beside search and present."
        => proposed_only(Options::SEARCH .union(Options::PRESENT) .union(Options::NAMED_RESULT_SETS));
    "options.unknown" Shall "Z39.50-2003 §4.3":
        "Unknown options are ignored: Init is accepted, and they are not granted."
        => unknown_options;
    "options.all" Practice OPTIONS:
        "A client may propose all options that the standard names."
        => all_options;
    "options.again" Practice OPTIONS:
        "A proposal that is repeated in the next session gets the same options."
        => same_options;
    "options.search" Should OPTIONS:
        "Search and present are granted."
        => search_and_present;
    "options.version-2" Should "Z39.50-2003 §3.3, §3.5":
        "In version 2, neither concurrent operations nor segmentation is granted."
        => version_2_options;
    "options.encapsulation" Practice OPTIONS:
        "Encapsulation is not granted to a client that does not encapsulate anything."
        => not_proposed(Options::ENCAPSULATION);
    "sizes.in-order" Shall SIZES:
        "exceptionalRecordSize is not below preferredMessageSize."
        => sizes(SIZE, SIZE);
    "sizes.small" Shall SIZES:
        "Small sizes are agreed on, or larger ones in their place."
        => sizes(2048, 4096);
    "sizes.tiny" Practice SIZES:
        "Sizes of an octet do not end the session."
        => sizes(1, 1);
    "sizes.zero" Practice SIZES:
        "Sizes of 0, by custom no limit, do not end the session."
        => sizes(0, 0);
    "sizes.large" Practice SIZES:
        "Sizes of 2147483647 octets do not end the session."
        => sizes(MAX, MAX);
    "sizes.beyond-32-bits" Practice SIZES:
        "Sizes that do not fit 32 bits do not end the session."
        => sizes(MAX * 4, MAX * 4);
    "sizes.reversed" Practice SIZES:
        "A preferredMessageSize above exceptionalRecordSize is answered."
        => sizes_answered(65_536, 4096);
    "sizes.negative" Practice SIZES:
        "Negative sizes are answered, and not agreed on."
        => negative_sizes;
    "charset.utf-8" Should "Z39.50-2003 §3.2.1.1.8":
        "A proposal of character sets is answered by one that names what is selected, if negotiation is granted."
        => charset;
    "charset.unknown" Practice "Z39.50-2003 §3.2.1.1.8":
        "A proposal of unknown character sets does not end the session."
        => unknown_charset;
};

const SIZE: i64 = 1 << 20;

/// Sends an Init with unusual options, after checking that the server accepts the usual ones. Returns the answer.
async fn proposing(trial: &mut Trial, options: Options) -> Checked<InitializeResponse> {
    trial.session().await?;
    let mut init = trial.base_init();
    init.options = options;
    trial.opened(init).await
}

async fn proposed_only(trial: &mut Trial, options: Options) -> Checked {
    let response = proposing(trial, options).await?;
    want(
        options.contains(response.options),
        "no option beyond those proposed",
        || summary(&response.into()),
    )
}

async fn unknown_options(trial: &mut Trial) -> Checked {
    let known = trial.base_init().options;
    let unknown = Options(Bits::of(&[22, 23, 30, 31]));
    let response = proposing(trial, known.union(unknown)).await?;
    let holds = response.result && is_none(response.options.intersection(unknown));
    want(
        holds,
        "an accepting answer without the unknown options",
        || summary(&response.into()),
    )
}

fn is_none(options: Options) -> bool {
    options.0.positions().next().is_none()
}

async fn all_options(trial: &mut Trial) -> Checked {
    let all = Options((0..22).fold(Bits::default(), Bits::with));
    let response = proposing(trial, all).await?;
    want(response.result, "an accepting answer", || {
        summary(&response.into())
    })
}

async fn same_options(trial: &mut Trial) -> Checked {
    let first = trial.session().await?.options;
    let second = trial.session().await?;
    want(first == second.options, "the same options", || {
        summary(&second.into())
    })
}

async fn search_and_present(trial: &mut Trial) -> Checked {
    let response = trial.session().await?;
    let both = Options::SEARCH.union(Options::PRESENT);
    want(
        response.options.contains(both),
        "search and present",
        || summary(&response.into()),
    )
}

async fn version_2_options(trial: &mut Trial) -> Checked {
    trial.session().await?;
    let mut init = trial.base_init();
    init.protocol_version = ProtocolVersion::UP_TO_2;
    let of_3 = Options::CONCURRENT_OPERATIONS
        .union(Options::SEGMENTATION_1)
        .union(Options::SEGMENTATION_2);
    init.options = init.options.union(of_3);
    let response = trial.opened(init).await.given()?;
    let granted = response.options.intersection(of_3);
    want(is_none(granted), "none of the options of version 3", || {
        summary(&response.into())
    })
}

async fn not_proposed(trial: &mut Trial, option: Options) -> Checked {
    let response = trial.session().await?;
    let granted = response.options.contains(option);
    let names: Vec<&str> = option.names().collect();
    want(!granted, format!("no {}", names.join(" ")), || {
        summary(&response.into())
    })
}

/// Sends an Init with unusual sizes, after checking that the server accepts the usual ones. Returns the answer.
async fn sized(trial: &mut Trial, preferred: i64, exceptional: i64) -> Checked<InitializeResponse> {
    trial.session().await?;
    let mut init = trial.base_init();
    init.preferred_message_size = preferred;
    init.exceptional_record_size = exceptional;
    trial.opened(init).await
}

async fn sizes(trial: &mut Trial, preferred: i64, exceptional: i64) -> Checked {
    let response = sized(trial, preferred, exceptional).await?;
    let (message, record) = (
        response.preferred_message_size,
        response.exceptional_record_size,
    );
    // By convention, a size of 0 means no limit.
    let in_order = message >= 0 && (record == 0 || record >= message);
    want(
        in_order,
        "exceptionalRecordSize of preferredMessageSize or more",
        || summary(&response.into()),
    )
}

async fn sizes_answered(trial: &mut Trial, preferred: i64, exceptional: i64) -> Checked {
    sized(trial, preferred, exceptional).await.map(drop)
}

async fn negative_sizes(trial: &mut Trial) -> Checked {
    let response = sized(trial, -1, -1).await?;
    let (message, record) = (
        response.preferred_message_size,
        response.exceptional_record_size,
    );
    want(
        !response.result || (message >= 0 && record >= 0),
        "sizes of 0 or more, or a rejection",
        || summary(&response.into()),
    )
}

/// Sends Init with a proposal for character sets.
async fn proposing_charset(
    trial: &mut Trial,
    proposal: OriginProposal,
) -> Checked<InitializeResponse> {
    let mut init = trial.base_init();
    init.options = init.options.union(Options::NEGOTIATION_MODEL);
    let mut information = OtherInformation::default();
    let put = information.put_value(&CharSetandLanguageNegotiation::Proposal(proposal));
    put.map_err(|error| Verdict::not_judged(error.to_string()))?;
    init.other_info = Some(information);
    trial.opened(init).await
}

async fn charset(trial: &mut Trial) -> Checked {
    trial.session().await?;
    let response = proposing_charset(trial, OriginProposal::named(&["utf-8"], &[], true)).await?;
    trial.needs(Options::NEGOTIATION_MODEL)?;
    let information = response.other_info.as_ref();
    let answer = information.and_then(OtherInformation::value::<CharSetandLanguageNegotiation>);
    let holds = matches!(answer, Some(CharSetandLanguageNegotiation::Response(_)));
    want(
        holds,
        "otherInfo with a response about character sets",
        || summary(&response.into()),
    )
}

async fn unknown_charset(trial: &mut Trial) -> Checked {
    trial.session().await?;
    let response =
        proposing_charset(trial, OriginProposal::named(&["x-none"], &["zzz"], false)).await?;
    want(response.result, "an accepting answer", || {
        summary(&response.into())
    })
}
