"""No certificates are read: everything is plain http on this machine, and reading them takes 50 ms a call."""

import pytest


@pytest.fixture(autouse=True)
def _no_certificates(monkeypatch, tmp_path_factory):
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path_factory.mktemp("certificates")))
