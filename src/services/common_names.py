"""Given and family names that are frequent and hardly anything else: known without further words."""

from __future__ import annotations

from src.services.word_lists import words_of

GIVEN = words_of("""
    aaron abdul abdullah abigail adam adrian ahmad ahmed aisha ajay akash albert alejandro alex alexander
    alexandra alexis ali alice alicia alison allison amanda amelia amina amir amit amy ananya andrea andrew
    angela anil anita anjali anna anne anthony antonio anusha arjun arthur arun asha ashley ashok austin
    barbara benjamin beth betty beverly bilal brandon brenda brian brittany bruce bryan carl carla carlos
    carol caroline carolyn catherine cathy charles charlotte cheryl chloe chris christian christina
    christine christopher cindy claire clara connor craig crystal cynthia daniel daniela danielle darren
    david deborah debra deepa deepak denise dennis derek diana diane diego dinesh divya donald donna dorothy
    douglas dustin dylan edward elaine eleanor elena elijah elizabeth ella emily emma eric erica erin ethan
    eugene evan evelyn faisal farah fatima felix fernando fiona frances francis francisco fred frederick
    gabriel gareth gary gaurav geoffrey george gerald geeta gita gloria gopal gordon greg gregory hannah hans
    harish harold harry hassan heather helen henry hiroshi hussein ian ibrahim imran irene isaac isabel
    isabella ivan jack jackson jacob jacqueline james jamie jane janet janice jason javier jean jeff jeffrey
    jennifer jeremy jerry jesse jessica jesus jill joan joanna joe joel john johnny jonathan jordan jorge
    jose joseph joshua joyce juan judith judy julia julian julie justin kamal karen karim karthik katherine
    kathleen kathryn kathy katie kavita kayla keith kelly kenneth kevin khalid kimberly kiran krishna kumar
    kyle lakshmi larry laura lauren lawrence layla leah lee leila leonard leslie liam linda lisa lori louis
    louise lucas lucy luis luke madison mahesh malik manish manoj marcus margaret maria marie marilyn mario
    marissa marta martha martin mary maryam mateo matthew maya meera megan mehmet melanie melissa michael
    michelle miguel mike mohamed mohammad mohammed mohan monica mustafa nadia nancy naomi natalie natasha
    nathan neha neil nicholas nicole nikhil nina nisha noah nora noor olivia omar oscar owen pablo pamela
    patricia patrick paul paula pedro peter philip phillip phyllis pooja pradeep prakash pramod pranav prasad
    preeti priya priyanka rachel radha rahul raj rajesh rajiv rakesh ralph ramesh randy rania rashid raymond
    rebecca rekha ricardo richard rita robert roberto robin rodney roger rohan rohit ronald rosa roy russell
    ruth ryan sabrina saeed salma samantha samir samuel sandeep sandra sanjay sara sarah sarita saurabh scott
    sean sebastian sergio shalini shannon sharon shawn sheila shirley shreya shyam simon sneha sofia sonia
    sophia sophie stacy stanley stephanie stephen steve steven sunil sunita suresh susan swati sylvia tamara
    tara taylor teresa terry theresa thomas tiffany timothy tina todd toni tracy tyler uma usha vanessa veena
    venkat veronica victor victoria vijay vikram vincent vinod virginia vivek wahid walter wayne wendy
    william xavier aarav aditi aditya akshay alan alok aman ananya anand angie ankit ankur annie anya archana arnav
    ashwin avni barbra becky ben benny bert betsy bhavna billy bobby brad bridget bushra callum cameron camila
    candice carmen cecilia celia chandra chelsea chetan clare colin conor courtney cody dale damian dana darius
    darshan dave debbie derrick devika dmitri dominic donny doris dwayne eddie edith edwin eileen elias ellen elsa
    emilia emilio erik ernest esther ethel eva ezra fatma fatema felicia floyd freddie gavin gemma georgia gerard
    ghulam gina giovanni girish glenn graham greta gurpreet gwen hamza harpreet harriet harsh hasan hector hema
    herbert howard hugh ida ingrid irma isha ishaan ivy jaime jana jasmine javed jeanette jenna jenny jerome jimmy
    joann jodi jody johan jonas josie juanita kabir kamala kara karan karina karl katrina kavitha keisha ken kenny
    khadija kirsten komal kristen kristin kurt lalita lars latoya lata leon leslie leticia lionel lloyd logan
    lorraine luca lucia lucille lydia mabel madhu mahmoud mallory mandy manuel marc marco marcia marco marina
    marjorie marlene marlon marvin maureen mauricio max maxwell mildred milind mina miranda mitchell mohini moses
    muhammad myra nabil naresh nasreen natalia navin ned neeraj nelson neeta nicolas nigel nikita nitin norma norman
    ollie orlando padma pallavi pam pankaj parveen pat patty pauline pavan penelope perry pete prachi pranay praveen
    preston rafael raghav rajan rajat rajendra ramon ramona ranjit ravi regina renee reza rhonda richa rick ricky
    riya rob robbie rodrigo roland ronnie rosemary rosie roxanne rupert sabina sachin sadia sahil sally salman sanjana
    sarita satish savitri selena seth shabnam shane shanti sharmila shashi shaun shelley shirin shivani shruti sid
    simone siddharth sita sonal sonali spencer srinivas stella stuart subhash sudha sue sujata suraj susanna susie
    tanvi tanya tasha ted tejas theo theodore tiffani tim toby tom tommy tracey tricia trisha troy valerie vanita
    vera vernon vicky vikas vikrant vinay vince viola virat vishal vivian wanda warren wilfred willie yash yolanda
    yogesh youssef yuki yvonne zahra zeeshan zubair yasmin yusuf zachary zainab zara zoe
    """)

FAMILY_AFTER_GIVEN = words_of("""
    baker banks black brown carpenter cook day fisher fox french glass gray grey green hall hill hunter
    king knight lane long love may moore moss north page park price rich rose savage sharp short stone
    swift west white bailey barnes brooks carter cooper cruz das diaz foster kim miller parker reed rivera rogers sanders turner walker mitra wise wolf wood woods wright young
    """)
"""Family names that are other words unless a given name stands before them."""

FAMILY = words_of("""
    adams agarwal aggarwal ahmed allen alvarez anderson banerjee bennett bhatt bhatia
    bryant campbell castillo chatterjee chaudhary chen chopra chowdhury clark collins
    davis desai deshpande dutta edwards evans fernandez fernandes flores garcia
    ghosh gomez gonzalez gonzales goyal gupta gutierrez harris hernandez howard hughes hussain iyer iyengar
    jackson jain jenkins jha jimenez johnson jones joshi kapoor kaur khan khanna kulkarni kumar lewis
    lopez malhotra martin martinez mehta menon mishra mitchell moore morales morgan morris
    mukherjee murphy myers naidu nair natarajan nelson nguyen ortiz pandey parekh patel patil perez
    perry peterson phillips pillai powell prasad qureshi ramirez ramos rao reddy reyes richardson
    roberts robinson rodriguez ross russell sanchez saxena sethi shah sharma shetty shukla
    siddiqui singh sinha smith srinivasan stewart subramanian sullivan swamy tanaka taylor thakur thomas
    thompson torres tripathi trivedi varma verma watson williams wilson wright yadav yamamoto
    """)
