"""Words that say which kind of number is being given: "my member id is", "the plate", "mera number"."""

from __future__ import annotations

from collections.abc import Mapping

from src.services.word_lists import words_of

_PHRASES: Mapping[str, str] = {
    "PHONE": (
        "phone|phone number|telephone|mobile|mobile number|cell|cell number|cellphone|callback|"
        "callback number|contact number|my number|whatsapp|call me|call me at|call me on|reach me|"
        "reach me at|reach me on|reached at|text me|ring me|call back|calling from|area code|landline|"
        "mera number|naya number|phone no|mobile no|contact|number is|number's|number hai|the number|"
        "मोबाइल|मोबाइल नंबर|फ़ोन|फोन|फ़ोन नंबर|फोन नंबर|मेरा नंबर|هاتفي|رقم هاتفي|الهاتف|رقم الهاتف|"
        "جوالي|رقم جوالي|الجوال|رقمي|موبايلي|اتصل بي|اتصل بي على"
    ),
    "FAX": (
        "fax|fax number|facsimile|faxed|faxes|fax it|faxed over|by fax|फैक्स|फ़ैक्स|فاكس|الفاكس|رقم الفاكس"
    ),
    "SSN": (
        "ssn|social|social security|social security number|social security no|my social|my social's|"
        "social's|itin|taxpayer id|رقم الضمان|الضمان الاجتماعي|رقم الضمان الاجتماعي"
    ),
    "MRN": (
        "mrn|medical record|medical record number|record number|chart|chart number|patient id|"
        "patient number|patient identifier|patient no|hospital number|file number|uhid|encounter|"
        "encounter number|case number|wristband|bracelet|मरीज़|मरीज|रिकॉर्ड नंबर|फ़ाइल नंबर|फाइल नंबर|"
        "الملف|رقم الملف|الملف الطبي|رقم الملف الطبي"
    ),
    "MEMBER_ID": (
        "member|member id|member number|member no|membership|membership number|insurance id|"
        "insurance number|insurance card|subscriber|subscriber id|subscriber number|health plan|"
        "health plan number|plan id|plan number|policy|policy number|policy no|beneficiary|"
        "beneficiary number|medicare|medicaid|medicaid id|enrollee|enrollee id|insurance|claim number|"
        "group number|बीमा|पॉलिसी|पॉलिसी का नंबर|पॉलिसी नंबर|التأمين|رقم التأمين|التأمين الصحي"
    ),
    "ACCOUNT": (
        "account|account number|account number's|account no|acct|acct number|bank account|checking|"
        "checking account|savings|savings account|iban|routing|routing number|sort code|bank details|"
        "direct debit|ifsc|refund|khata|khate|khata number|khate ka number|खाता|खाता नंबर|खाते|"
        "حسابي|رقم حسابي|رقم الحساب|حسابي البنكي|الحساب|آيبان"
    ),
    "CARD": (
        "card|card number|card no|credit card|credit card number|debit card|visa|mastercard|amex|"
        "american express|discover|sixteen digits|16 digits|long number|card ka number|charge it|"
        "payment|कार्ड|कार्ड का नंबर|कार्ड नंबर|بطاقتي|رقم بطاقتي|البطاقة|رقم البطاقة|بطاقة الائتمان"
    ),
    "LICENSE": (
        "license|licence|license number|licence number|driver's license|drivers license|driver license|"
        "driver's licence|drivers licence|driving licence|driving license|dl|dl number|license's|"
        "driving licence number|medical license|लाइसेंस|लाइसेंस नंबर|ड्राइविंग लाइसेंस|رخصة|رخصة القيادة|"
        "رقم رخصة القيادة|رقم الرخصة"
    ),
    "PASSPORT": "passport|passport number|passport no|travel document|passports|पासपोर्ट|पासपोर्ट नंबर|جواز|جواز سفري|جواز السفر|رقم الجواز",
    "PLATE": (
        "plate|plates|plate number|license plate|licence plate|number plate|registration|"
        "registration number|reg number|reg number's|reg|vehicle|vehicle number|my car|the car|tag|vin|"
        "vehicle identification number|gaadi|gaadi number|gaadi ka number|gadi number|gadi ka number|"
        "गाड़ी|गाड़ी का नंबर|गाड़ी नंबर|لوحة|لوحة سيارتي|رقم اللوحة|سيارتي|permit"
    ),
    "DEVICE": (
        "serial|serial number|serial no|serial number's|device|device id|device number|device serial|"
        "imei|mac address|mac|udi|identifier|s n|sn|s slash n|pump|implant|sensor|सीरियल|सीरियल नंबर|"
        "الرقم التسلسلي|التسلسلي|للجهاز"
    ),
    "IP": "ip|ip address|i p|आईपी|आईपी एड्रेस|الآي بي",
    "POSTCODE": (
        "zip|zip code|zip code's|zipcode|postcode|post code|postal code|pin code|pincode|area pin|"
        "zip plus 4|billing zip|billing postcode|pin|पिन कोड|पिनकोड|पिन|الرمز البريدي|البريدي"
    ),
    "DATE_OF_BIRTH": (
        "date of birth|birth date|birthdate|birthday|birthday's|birthday is|dob|d o b|d 0 b|born|born on|"
        "janam|janm|janmdin|janam din|janamdin|janm tithi|जन्म|जन्म तिथि|जन्मदिन|जन्मतिथि|ميلادي|تاريخ ميلادي|"
        "تاريخ الميلاد|ولدت"
    ),
    "AADHAAR": (
        "aadhaar|aadhar|adhar|adhaar|aadhaar number|aadhaar card|aadhar card|aadhaar card number|uid|"
        "uidai|आधार|आधार नंबर|आधार कार्ड"
    ),
    "PAN": "pan|pan card|pan number|pan card number|permanent account number|पैन|पैन नंबर|पैन कार्ड",
    "NATIONAL_ID": (
        "nhs|nhs number|national insurance|national insurance number|ni number|ni number's|emirates id|"
        "emirates id number|national id|national id number|identity card|identity card number|voter id|"
        "voter card|voter id card|social insurance number|social insurance|sin|iqama|iqama number|npi|"
        "id card|civil id|मतदाता पहचान पत्र|मतदाता|पहचान पत्र|هويتي|رقم هويتي|الهوية|رقم الهوية|الإقامة|"
        "رقم الإقامة"
    ),
}

CUES: Mapping[tuple[str, ...], str] = {
    tuple(phrase.split()): label
    for label, phrases in _PHRASES.items()
    for phrase in phrases.split("|")
}
LONGEST_CUE = max(map(len, CUES))

GLUE = words_of(
    "is are was it it's its that's that the a my me mine's mine number numbers no no. code id i'd so um "
    "uh er hmm okay ok yes yeah sure well like be to at on says say said reads read read: in with of "
    "ending ends end last first four digits digit should would will be being as and then here here's "
    "goes follows following this there there's for by new old one just number's hold wait let see look "
    "hai h hain ka ki ke ko pe par mein me mera meri likho likhiye likha hua ji haan ye yeh wo woh naya "
    "aakhri chaar ank number starts start begins have got which uses use used now would've please "
    "है हैं का की के को पर में नंबर मेरा मेरी यह ये जी लिख हाँ هو هي رقم على في الخاص بي رقمي no' nos "
    "please: saying has gave written down write"
)
"""Words that may stand between a cue and its number however short that is."""

UNITS_OF_MEASURE = words_of(
    "dollar dollars dollar's bucks cents euro euros pound pounds rupee rupees rupaye rupay rs usd inr aed "
    "dirham dirhams percent per cent mg milligram milligrams mcg g gram grams ml litre litres liter "
    "liters unit units iu minute minutes min mins hour hours second seconds day days week weeks month "
    "months year years decade decades time times times' o'clock am pm a.m p.m degree degrees people "
    "persons patients box boxes tablet tablets pill pills dose doses mile miles km kilometer kilometers "
    "kilometre kilometres meter meters metre metres feet foot inch inches kilo kilos kg lbs cup cups "
    "million billion lakh lakhs crore crores thousand items pieces orders copies downloads calories "
    "steps baje ghante ghanta din hafte mahine saal minat goli bar baar log रुपये रुपए दिन घंटे साल बजे "
    "गोली बार درهم ريال دولار سنة سنوات يوم أيام ساعة دقيقة حبة مرة شهر أشهر"
)
CURRENCY_BEFORE = words_of("rs rupees usd inr aed eur gbp")
