// SPDX-License-Identifier: Apache-2.0
#include "sandbox/microvm/card.h"

// Before the kernel's headers, which then leave out what this defines, too.
#include <netinet/in.h>

#include <linux/fib_rules.h>
#include <linux/if_link.h>
#include <linux/ip.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "sandbox/child/netlink_batch.h"

namespace glovebox::microvm {
namespace {

using child::NetlinkBatch;

using Address = std::array<std::uint8_t, 4>;

consteval Address parsed(std::string_view text) {
  Address address{};
  auto number = address.begin();
  for (const char each : text) {
    if (each == '.') {
      ++number;
    } else {
      *number = static_cast<std::uint8_t>(*number * 10 + (each - '0'));
    }
  }
  return address;
}

constexpr const char* kName = "eth0";  // The kernel's, of the first card.
constexpr Address kOwn = {192, 0, 0, 2};
constexpr Address kGateway = parsed(kLinkGateway);
constexpr Address kLoopback = {127, 0, 0, 1};
constexpr std::uint8_t kLinkBits = 29;
constexpr std::uint8_t kAllBits = 32;
constexpr std::uint16_t kNamePort = 53;

void link_head(NetlinkBatch& batch, unsigned index, unsigned flags) {
  batch.byte(AF_UNSPEC);
  batch.byte(0);
  batch.number(std::uint16_t{0});  // Its type.
  batch.number(index);
  batch.number(flags);
  batch.number(flags);  // Which of the flags are meant.
}

// ip link set eth0 netns PID
NetlinkBatch move_to(pid_t pid) {
  NetlinkBatch batch;
  batch.message(RTM_NEWLINK, NLM_F_ACK, [&] {
    link_head(batch, 0, 0);
    batch.text(IFLA_IFNAME, kName);
    batch.number32(IFLA_NET_NS_PID, static_cast<std::uint32_t>(pid));
  });
  return batch;
}

// Packets from 127.0.0.1 through the card are answers of the proxy and the name server: they are
// accepted there (route_localnet), though the address is also the kernel's own (accept_local).
// There is no IPv6 beyond the card, so it gets no IPv6 address, and asks nobody for one.
void allow_loopback(NetlinkBatch& batch, unsigned index) {
  batch.message(RTM_NEWLINK, 0, [&] {
    link_head(batch, index, 0);
    batch.nested(IFLA_AF_SPEC, [&] {
      batch.nested(AF_INET, [&] {
        batch.nested(IFLA_INET_CONF, [&] {
          batch.number32(IPV4_DEVCONF_ROUTE_LOCALNET, 1);
          batch.number32(IPV4_DEVCONF_ACCEPT_LOCAL, 1);
        });
      });
      batch.nested(AF_INET6, [&] {
        batch.bytes(IFLA_INET6_ADDR_GEN_MODE, std::array<std::uint8_t, 1>{IN6_ADDR_GEN_MODE_NONE});
      });
    });
  });
}

void raise(NetlinkBatch& batch, unsigned index) {
  batch.message(RTM_NEWLINK, 0, [&] { link_head(batch, index, IFF_UP); });
}

// ip address add 192.0.0.2/29 dev eth0
void add_address(NetlinkBatch& batch, unsigned index) {
  batch.message(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, [&] {
    batch.byte(AF_INET);
    batch.byte(kLinkBits);
    batch.byte(0);
    batch.byte(RT_SCOPE_UNIVERSE);
    batch.number(index);
    batch.bytes(IFA_LOCAL, kOwn);
    batch.bytes(IFA_ADDRESS, kOwn);
  });
}

// ip route add default via 192.0.0.1 dev eth0
void add_route(NetlinkBatch& batch, unsigned index) {
  batch.message(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, [&] {
    batch.byte(AF_INET);
    batch.byte(0);  // Bits of the destination, of the source; type of service.
    batch.byte(0);
    batch.byte(0);
    batch.byte(RT_TABLE_MAIN);
    batch.byte(RTPROT_BOOT);
    batch.byte(RT_SCOPE_UNIVERSE);
    batch.byte(RTN_UNICAST);
    batch.number(std::uint32_t{0});
    batch.bytes(RTA_GATEWAY, kGateway);
    batch.number32(RTA_OIF, index);
  });
}

// Of ip-rule(8). What is zero matches everything.
struct Rule {
  std::uint32_t number = 0;   // Rules with smaller numbers are asked first.
  std::uint8_t table = 0;     // The table to look into; 0: prohibited (EACCES).
  std::uint8_t protocol = 0;  // Above IPv4.
  std::uint16_t port = 0;     // To this port of 127.0.0.1.
};

void say(NetlinkBatch& batch, std::uint16_t message, std::uint16_t flags, const Rule& rule) {
  batch.message(message, flags, [&] {
    batch.byte(AF_INET);
    batch.byte(rule.port == 0 ? 0 : kAllBits);  // Of the destination, of the source.
    batch.byte(0);
    batch.byte(0);  // Type of service.
    batch.byte(rule.table);
    batch.byte(0);
    batch.byte(0);
    batch.byte(rule.table == 0 ? FR_ACT_PROHIBIT : FR_ACT_TO_TBL);
    batch.number(std::uint32_t{0});
    batch.number32(FRA_PRIORITY, rule.number);
    if (rule.protocol != 0) {
      batch.bytes(FRA_IP_PROTO, std::array{rule.protocol});
    }
    if (rule.port != 0) {
      batch.bytes(FRA_DST, kLoopback);
      batch.number32(FRA_DPORT_RANGE, rule.port | std::uint32_t{rule.port} << 16U);  // From, to.
    }
  });
}

// The kernel's own rules come after these or are removed: its rule 0 finds all of the machine's own
// addresses, and its last ones lead everything to the card. What is not TCP fails at once.
void set_rules(NetlinkBatch& batch, std::uint16_t egress_port) {
  constexpr std::uint8_t kLocal = RT_TABLE_LOCAL;
  constexpr std::uint8_t kMain = RT_TABLE_MAIN;
  for (const Rule& rule :
       {Rule{.number = 1, .table = kMain, .protocol = IPPROTO_TCP, .port = egress_port},
        Rule{.number = 1, .table = kMain, .protocol = IPPROTO_UDP, .port = kNamePort},
        Rule{.number = 2, .table = kLocal},
        Rule{.number = 3, .table = kMain, .protocol = IPPROTO_TCP}, Rule{.number = 4}}) {
    say(batch, RTM_NEWRULE, NLM_F_CREATE, rule);
  }
  say(batch, RTM_DELRULE, NLM_F_ACK, {.number = 0, .table = kLocal});
}

}  // namespace

UniqueFd open_card_mover() {
  const long netlink = child::open_netlink(NETLINK_ROUTE);
  if (netlink < 0) {
    errno = static_cast<int>(-netlink);
    return {};
  }
  return UniqueFd(static_cast<int>(netlink));
}

long take_card(const UniqueFd& mover, std::uint16_t egress_port) {
  if (const long r = child::tell_kernel(mover.get(), move_to(::getpid())); r < 0) {
    return r;
  }
  const UniqueFd netlink = open_card_mover();  // The same, of this namespace.
  const unsigned index = ::if_nametoindex(kName);
  if (!netlink || index == 0) {
    return -errno;
  }
  NetlinkBatch batch;
  allow_loopback(batch, index);
  raise(batch, index);
  add_address(batch, index);
  add_route(batch, index);
  set_rules(batch, egress_port);
  return child::tell_kernel(netlink.get(), batch);
}

}  // namespace glovebox::microvm
