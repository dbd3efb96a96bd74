import pytest

LINES = 80


@pytest.fixture
def talk(cli, tmp_path):
    """So much talk in the default bank that its similarities tell something."""
    path = tmp_path / "talk.txt"
    said = (f"Ada: I walked {n % 7} miles with Toby along the river, past house {n}." for n in range(LINES))
    path.write_text("# 2023-07-11\n" + "\n".join(said) + "\n", "utf-8")
    assert cli("retain", path).code == 0


def test_it_says_what_it_would_do_and_then_does_it(cli, talk):
    tried = cli("calibrate", "--dry-run", "--share", "0.2", "--json").json()
    assert (tried["units"], tried["theta_count"], tried["stored"]) == (LINES, 5, False)
    assert (tried["embedder"], tried["before"]) == ("wordllama-256", 0.6)
    assert tried["after"] != tried["before"]
    done = cli("calibrate", "--share", "0.2")
    assert done.code == 0
    assert "80 units of bank default, embedder wordllama-256" in done.out
    assert f"theta_sim: 0.600 so far (93.8 % of units recur), {tried['after']:.3f} now" in done.out
    assert done.out.endswith("; stored\n")
    again = cli("calibrate", "--dry-run", "--share", "0.2", "--json").json()
    assert again["before"] == again["after"] == tried["after"], "the bank goes by it"


def test_what_cannot_be_is_refused(cli, talk, filled):
    assert cli("calibrate", "--share", "2").code == 2
    assert cli("calibrate", "--theta-count", "0").code == 2
    done = cli("calibrate", "--bank", "nobody")
    assert (done.code, "no bank 'nobody'" in done.err) == (1, True)


def test_too_little_talk_tells_nothing(cli, filled):
    done = cli("calibrate")
    assert done.code == 2
    assert "bank 'default' has 4 units; calibration needs at least 55" in done.err
