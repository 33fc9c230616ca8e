"""Everyday words, which are no part of a name or an address of mail when they stand beside one."""

from __future__ import annotations

from src.services.word_lists import words_of

COMMON = words_of("""
    a able about above access account across actual actually add address admin after afternoon again age
    ago agree ah ahead all allergic allergies allergy allow almost alone along already alright also always
    am amount an and another answer any anybody anymore anyone anything anyway apart app apply appointment
    appointments appreciate are area around arrive arrived as ask asked asking assist at available away
    awful baby back bad bag bank be because been before began begin being believe below best better between
    big bill billing bit block blocked blog blood blue body book booked booking both bother bottom box boy
    break bring brother brown browser busy but buy by bye call called caller calling calls came can can't
    cancel cannot car card care careful case cell change changed charge charged check checked child children
    city claim class clear clearly clinic close code cold color come comes coming company complete computer
    concern confirm confirmed confused connect connected contact copy correct cost could couldn't couple
    course cousin customer dad daily date daughter day days dead deal dear decided declined definitely
    delete deliver delivered delivery dentist department details did didn't died different difficult digit
    digits direct discharge disappointed do doctor doctors does doesn't doing don't done door dose down
    dress drive driver drop drug due during each earlier early eat either else email emails emergency empty
    end ended ending enough enter error even evening ever every everybody everyone everything exactly
    excellent excited excuse expired expires explain eye eyes fact family far fast father fax feel feeling
    feels fell few file fill final finally find fine finish first fix folder follow following food foot for
    forever forget forgot form forward found four free friend friends from front full funny further gave
    general get gets getting girl give given gives giving glad go goes going gone good got great green grey
    group guess guy had half hand hang happen happened happens happy hard has hasn't hate have haven't
    having he he'd he'll he's head health hear heard hearing heart hello help helped helpful her here
    here's hers hey hi high him himself his hit hmm hold holder holding home honestly hope hoping hospital
    hotel hotspot hour hours house how however huh hungry hurt hurts husband i i'd i'll i'm i've id idea
    identity if ill important in included info information inside instead insurance interested into invoice
    is isn't issue issues it it'll it's its itself job just keep keeps key kid kids kind knee know known
    label lab lady laptop last late later lawyer learn least leave left leg less let let's letter letters
    level light like likely line link list listed listen little live lives living local location login long
    look looked looking looks lost lot lots love low lower lucky machine mad made mail main make makes making
    man manager many maybe me mean means medical medicine meet meeting member men mention message met middle
    might mind mine minute minutes miss missed missing mistake mobile mom moment money month months more
    morning most mother mouth move moved mr mrs ms much mum must my myself name named names near need needed
    needs neighbor neighbour neither nervous never new news next nice night no nobody none nope nor not note
    nothing notice now number numbers nurse of off offer office often oh ok okay old older on once one ones
    online only open opened opening option or order ordered other others our ours out outside over own owner
    page paid pain panel paper papers parent parents park part partner party password past patient patients
    pay paying payment people per perfect perhaps person personal pharmacist pharmacy phone photo photos pick
    picked picture piece place plan play please plus pm point policy portal portfolio possible post
    prefer pregnant prescription pretty previous price probably problem problems profile proof public pull
    put question questions quick quickly quiet quite ran rather reach read reading ready real realised
    really reason receipt received recently record records red refill register registered regular related
    relative remember remove rent repeat reply report request reschedule rest result results return right
    ring room run running sad safe said same sat saw say saying says scan schedule school screen second see
    seeing seem seems seen send sending sent serious server service set several shall share shared she she'd
    she'll she's ship shipping shop short shot should shouldn't show showed shows sick side sign simple since
    sir sister sit site sleep slow slowly small so social some somebody someone something sometimes son soon
    sore sorry sort sound sounds speak speaking spell spelled spelling spoke stand start started starting
    starts state station stay staying step still stop store story street stuff such sudden support suppose
    supposed sure surgery surprised switch system take taken takes taking talk talked talking tell telling
    terrible test text than thank thanks that that'd that'll that's the their them themselves then there
    there's these they they'd they'll they're they've thing things think third this those though thought
    through till time times tired to today together told tomorrow tonight too took top total town tried
    trouble true try trying turn turned twice two type typed under understand until up update upload uploaded
    upset urgent us use used user username using usually vacation valid verify very video visit wait waited
    waiting walk want wanted wants warm was wasn't watch way we we'd we'll we're we've website wednesday week
    weekend weeks welcome well went were weren't what what's whatever when where whether which while who
    who's whole whom whose why wife will window wish with within without woman won't wonder word words work
    worked working works worried worry worse worst would wouldn't wow write writing written wrong wrote yeah
    year years yep yes yesterday yet you you'd you'll you're you've young your yours yourself
    absolutely amazing annoyed another's anxious asthma bleeding calm cancer cough covid diabetic diabetes
    dialysis dizzy fever frustrated headache infection nausea pregnant ridiculous wonderful weird lovely
    monday tuesday thursday friday saturday sunday january february march april may june july august
    september october november december spring summer autumn winter
    african american arab arabic argentinian asian australian austrian bangladeshi belgian brazilian
    british bulgarian canadian chinese colombian croatian cuban czech danish dutch egyptian emirati english
    european filipino finnish french german greek hindi hungarian indian indonesian iranian iraqi irish
    israeli italian jamaican japanese kenyan korean latin lebanese malaysian mexican moroccan nepali
    nigerian norwegian pakistani persian peruvian polish portuguese punjabi romanian russian saudi scottish
    serbian spanish swedish swiss syrian tamil telugu thai turkish ukrainian urdu vietnamese welsh
    atheist buddhist catholic christian hindu jewish jew muslim protestant sikh orthodox christmas diwali
    easter eid hanukkah halloween holi passover ramadan thanksgiving valentine's
    uh um er erm zero three five six seven eight nine ten eleven twelve dozen hundred thousand million
    cc number's ping blocked went whitelist login check checks directly everybody's attention regarding
    against female male upstairs downstairs
    lowercase uppercase colon slash dash dot underscore hyphen rate www http https
    mera meri mere naam nam main mai mein hai hain hoon hun ho tha thi the ka ki ke ko se par pe bhi nahi
    nahin na haan ji aap apka aapka hum ham tum ye yeh wo woh kya kaise kab kahan kyun aur ya lekin magar
    toh to bol raha rahi rahe baat kar karna karo kijiye kariye kare dijiye dena de do lijiye le likh likho
    likhiye bhej bhejna bhejo chahiye dekh daal daaliye likha hua hui huye rehta rehti rahta unka unki unke
    uska uski uske mujhe hamara patient appointment number band purana naya theek thik accha acha namaste
    abhi aaj kal subah raat shaam dawai ghar wahan yahan yahi sahi list bukhar
    है हैं हूँ हूं था थी थे हुई हुआ का की के को से पर में और या मेरा मेरी मेरे नाम मैं हम आप यह ये वह वो बोल रहा
    रही रहे हूँ जी नहीं हाँ हां लीजिए लिख दीजिए कीजिए कृपया नमस्ते बता ठीक मुझे लिखा कार्ड नंबर काम कर
    في من على إلى الى عن مع هذا هذه أنا انا هو هي نحن أنت و أو لا نعم رقم اسمي اسم عندي أريد اريد موعد موعدا
    مرحبا السيد السيدة الدكتور الدكتورة عيادة مريض هل كان كانت منذ قبل بعد فضلك لو سمحت وأريد واسمي ورقمي
    """)
