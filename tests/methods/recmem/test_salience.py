"""What the rule takes up, and what it leaves: precise rather than broad."""

import pytest

from recollect.methods.recmem.salience import find_salience

TAKEN = {
    "allergy": (
        "I'm allergic to peanuts, badly.",
        "By the way, my son has a nut allergy.",
        "Toby is allergic to chicken.",
        "I can't eat bread, I have coeliac disease.",
        "She's lactose intolerant.",
        "My EpiPen is in the blue bag.",
    ),
    "health": (
        "I was diagnosed with diabetes last week.",
        "My mother has a heart condition.",
        "The doctor prescribed me something new.",
        "I'm pregnant!",
    ),
    "safety": (
        "In case of fire, the keys hang by the door.",
        "My emergency contact is Nora.",
        "Chocolate is poisonous for the dog.",
        "Never leave the stove unattended.",
    ),
    "deadline": (
        "The report is due by Friday.",
        "My passport expires in March 2025.",
        "The deadline was moved to 12 June.",
        "I need to be done by 9 am.",
    ),
    "rule": (
        "Never call me before nine.",
        "Please always use metric units.",
        "From now on, answer in French.",
        "I am vegan.",
        "I don't eat pork.",
    ),
    "identifier": ("My phone number is 020 7946 0018.", "My email is ada@example.org."),
    "request": (
        "Remember that I park in bay 14.",
        "So please don't forget my keys.",
        "Keep in mind that Nora can't stand coriander.",
        "For future reference, trains are better.",
        "Don't forget to ring Nora tomorrow.",
    ),
}
LEFT = (
    "Do you have any allergies?",
    "I have no allergies.",
    "I'm not allergic to anything.",
    "What if I were allergic to cats?",
    "Allergies can be tough.",
    "You said you were allergic to pets, how bad is it?",
    "Don't forget to smile!",
    "Remember when we met?",
    "I'll never forget that day.",
    "I remember that summer well.",
    "Never give up!",
    "I always use this path, never the other one.",
    "When is the deadline?",
    "There's no deadline.",
    "It was late due to the rain.",
    "The train is due any minute.",
    "She could have been diagnosed with anything.",
    "My number one rule is to have fun.",
    "It was dangerous, but we made it.",
    "We met in the emergency room of that show.",
    "",
    "!!! ... ???",
)


@pytest.mark.parametrize(("reason", "text"), [(reason, text) for reason, some in TAKEN.items() for text in some])
def test_what_is_taken_up_and_why(reason, text):
    assert find_salience(text) == reason


@pytest.mark.parametrize("text", LEFT)
def test_what_is_left(text):
    assert find_salience(text) is None


def test_one_sentence_of_many_is_enough_and_a_question_beside_it_changes_nothing():
    assert find_salience("How are you? I walked the dog. I'm allergic to wasps, did I tell you that. Bye!") == "allergy"
    assert find_salience("Lovely weather.\n- My passport expires on 3 May\n- and so on") == "deadline"


def test_long_texts_without_an_end_take_no_time():
    assert find_salience("never " * 20_000) is None
    assert find_salience("a." * 20_000) is None
