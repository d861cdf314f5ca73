"""Who stamps what arrives, known before any connection; apart from what opens connections, to be light."""

import socket

from fairtrial.drive.order import Address
from fairtrial.drive.stamps import ask_for_stamps
from fairtrial.schema.client_vocab import Transport
from fairtrial.schema.vocab import StampSource


def stamp_source(address: Address, transport: Transport) -> StampSource:
    """Who stamps arrivals from an address. No connection is made."""
    if transport is not Transport.OWN or address.tls:
        return StampSource.USER
    with socket.socket() as sock:
        return StampSource.KERNEL if ask_for_stamps(sock) else StampSource.USER
