//! Language codes of MARC 21 (MARC Code List for Languages) and UNIMARC, which are the bibliographic codes of ISO
//! 639-2.

/// The codes, in alphabetical order.
const CODES: &str = "\
aar abk ace ach ada ady afa afh afr ain aka akk alb ale alg alt amh ang anp apa ara arc arg arm arn arp art arw asm ast ath \
aus ava ave awa aym aze bad bai bak bal bam ban baq bas bat bej bel bem ben ber bho bih bik bin bis bla bnt bos bra bre btk \
bua bug bul bur byn cad cai car cat cau ceb cel cha chb che chg chi chk chm chn cho chp chr chu chv chy cmc cnr cop cor cos \
cpe cpf cpp cre crh crp csb cus cze dak dan dar day del den dgr din div doi dra dsb dua dum dut dyu dzo efi egy eka elx eng \
enm epo est ewe ewo fan fao fat fij fil fin fiu fon fre frm fro frr frs fry ful fur gaa gay gba gem geo ger gez gil gla gle \
glg glv gmh goh gon gor got grb grc gre grn gsw guj gwi hai hat hau haw heb her hil him hin hit hmn hmo hrv hsb hun hup iba \
ibo ice ido iii ijo iku ile ilo ina inc ind ine inh ipk ira iro ita jav jbo jpn jpr jrb kaa kab kac kal kam kan kar kas kau \
kaw kaz kbd kha khi khm kho kik kin kir kmb kok kom kon kor kos kpe krc krl kro kru kua kum kur kut lad lah lam lao lat lav \
lez lim lin lit lol loz ltz lua lub lug lui lun luo lus mac mad mag mah mai mak mal man mao map mar mas may mdf mdr men mga \
mic min mis mkh mlg mlt mnc mni mno moh mon mos mul mun mus mwl mwr myn myv nah nai nap nau nav nbl nde ndo nds nep new nia \
nic niu nno nob nog non nor nqo nso nub nwc nya nym nyn nyo nzi oci oji ori orm osa oss ota oto paa pag pal pam pan pap pau \
peo per phi phn pli pol pon por pra pro pus que raj rap rar roa roh rom rum run rup rus sad sag sah sai sal sam san sas sat \
scn sco sel sem sga sgn shn sid sin sio sit sla slo slv sma sme smi smj smn smo sms sna snd snk sog som son sot spa srd srn \
srp srr ssa ssw suk sun sus sux swa swe syc syr tah tai tam tat tel tem ter tet tgk tgl tha tib tig tir tiv tkl tlh tli tmh \
tog ton tpi tsi tsn tso tuk tum tup tur tut tvl twi tyv udm uga uig ukr umb und urd uzb vai ven vie vol vot wak wal war was \
wel wen wln wol xal xho yao yap yid yor ypk zap zbl zen zha znd zul zun zxx zza";

/// Names and further codes of frequently catalogued languages, each with the MARC code. The further codes are those of
/// ISO 639-1 and the terminological codes of ISO 639-2.
const OTHERS: [(&str, &str); 61] = [
    ("ar", "ara"),
    ("arabic", "ara"),
    ("ca", "cat"),
    ("catalan", "cat"),
    ("ces", "cze"),
    ("chinese", "chi"),
    ("cs", "cze"),
    ("czech", "cze"),
    ("cy", "wel"),
    ("cym", "wel"),
    ("da", "dan"),
    ("danish", "dan"),
    ("de", "ger"),
    ("deu", "ger"),
    ("deutsch", "ger"),
    ("dutch", "dut"),
    ("el", "gre"),
    ("ell", "gre"),
    ("en", "eng"),
    ("english", "eng"),
    ("es", "spa"),
    ("espanol", "spa"),
    ("eus", "baq"),
    ("fas", "per"),
    ("fi", "fin"),
    ("finnish", "fin"),
    ("fr", "fre"),
    ("fra", "fre"),
    ("francais", "fre"),
    ("french", "fre"),
    ("german", "ger"),
    ("greek", "gre"),
    ("he", "heb"),
    ("hebrew", "heb"),
    ("hu", "hun"),
    ("hungarian", "hun"),
    ("isl", "ice"),
    ("it", "ita"),
    ("italian", "ita"),
    ("ja", "jpn"),
    ("japanese", "jpn"),
    ("latin", "lat"),
    ("nederlands", "dut"),
    ("nl", "dut"),
    ("nld", "dut"),
    ("no", "nor"),
    ("norwegian", "nor"),
    ("pl", "pol"),
    ("polish", "pol"),
    ("portuguese", "por"),
    ("pt", "por"),
    ("ro", "rum"),
    ("ron", "rum"),
    ("ru", "rus"),
    ("russian", "rus"),
    ("slk", "slo"),
    ("spanish", "spa"),
    ("sv", "swe"),
    ("swedish", "swe"),
    ("zh", "chi"),
    ("zho", "chi"),
];

/// Returns whether text is a language code; case is ignored.
pub fn is_code(text: &str) -> bool {
    let mut codes = CODES.split(' ');
    codes.any(|code| code.eq_ignore_ascii_case(text))
}

/// Returns the MARC code for another language code or for the name of a language: `fre` for `fr`, `fra` and `french`.
pub fn code_of(text: &str) -> Option<&'static str> {
    let mut others = OTHERS.iter();
    let found = others.find(|(other, _)| other.eq_ignore_ascii_case(text));
    found.map(|(_, code)| *code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_names() {
        let codes: Vec<&str> = CODES.split(' ').collect();
        assert!(codes.is_sorted(), "in alphabetical order");
        assert!(codes.iter().all(|code| code.len() == 3));
        for (text, is_one, code) in [
            ("fre", true, None),
            ("FRE", true, None),
            ("fra", false, Some("fre")),
            ("French", false, Some("fre")),
            ("xxx", false, None),
            ("", false, None),
            ("fre ger", false, None),
        ] {
            assert_eq!((is_code(text), code_of(text)), (is_one, code), "{text}");
        }
        for (other, code) in OTHERS {
            assert!(is_code(code), "{other}");
        }
    }
}
