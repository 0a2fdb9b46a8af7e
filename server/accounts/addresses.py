"""Whom limits by address count together. Pure."""

import ipaddress


def network_of(address: str) -> str:
    """The address itself; of IPv6 its network of 64 bits, as hosts in it are made up at will."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address[:64]
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ipaddress.IPv6Network((int(parsed) >> 64 << 64, 64)))
    return str(parsed)
