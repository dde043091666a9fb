// SPDX-License-Identifier: Apache-2.0
#include "sandbox/child/way_out.h"

// Before the kernel's headers, which then leave out what these define, too.
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/rtnetlink.h>

#include "base/sys/raw.h"
#include "sandbox/child/hand_out.h"
#include "sandbox/child/netlink_batch.h"

namespace glovebox::child {
namespace {

using sys::raw;

constexpr std::uint32_t kLoopbackDevice = 1;  // The first device of any network namespace.
constexpr std::array<std::uint8_t, 4> kLoopback = {127, 0, 0, 1};

// ip route add local default dev lo src 127.0.0.1 table local
//
// All addresses are the sandbox's own: packets to them go nowhere else.
constexpr NetlinkBatch kRoute = [] {
  NetlinkBatch batch;
  batch.message(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK, [&] {
    batch.byte(AF_INET);
    batch.byte(0);  // Bits of the destination, of the source; type of service.
    batch.byte(0);
    batch.byte(0);
    batch.byte(RT_TABLE_LOCAL);
    batch.byte(RTPROT_BOOT);
    batch.byte(RT_SCOPE_HOST);
    batch.byte(RTN_LOCAL);
    batch.number(std::uint32_t{0});
    batch.bytes(RTA_OIF, std::array<std::uint8_t, 4>{kLoopbackDevice});
    batch.bytes(RTA_PREFSRC, kLoopback);
  });
  return batch;
}();

constexpr std::uint16_t nft(std::uint16_t message) {
  return static_cast<std::uint16_t>((NFNL_SUBSYS_NFTABLES << 8U) | message);
}

constexpr void nft_head(NetlinkBatch& batch, std::uint8_t family, std::uint16_t resource) {
  batch.byte(family);
  batch.byte(NFNETLINK_V0);
  batch.number(__builtin_bswap16(resource));
}

template <typename Fill>
constexpr void expression(NetlinkBatch& batch, std::string_view name, Fill fill) {
  batch.nested(NFTA_LIST_ELEM, [&] {
    batch.text(NFTA_EXPR_NAME, name);
    batch.nested(NFTA_EXPR_DATA, fill);
  });
}

template <std::size_t size>
constexpr void compare(NetlinkBatch& batch,
                       nft_cmp_ops how,
                       const std::array<std::uint8_t, size>& with) {
  expression(batch, "cmp", [&] {
    batch.big32(NFTA_CMP_SREG, NFT_REG_1);
    batch.big32(NFTA_CMP_OP, how);
    batch.nested(NFTA_CMP_DATA, [&] { batch.bytes(NFTA_DATA_VALUE, with); });
  });
}

template <std::size_t size>
constexpr void load(NetlinkBatch& batch,
                    nft_registers into,
                    const std::array<std::uint8_t, size>& what) {
  expression(batch, "immediate", [&] {
    batch.big32(NFTA_IMMEDIATE_DREG, into);
    batch.nested(NFTA_IMMEDIATE_DATA, [&] { batch.bytes(NFTA_DATA_VALUE, what); });
  });
}

// ip daddr != 127.0.0.0/8 meta l4proto `how` tcp
constexpr void match(NetlinkBatch& batch, nft_cmp_ops how) {
  constexpr std::uint32_t kDestination = 16;  // Its offset in an IPv4 header.
  expression(batch, "payload", [&] {
    batch.big32(NFTA_PAYLOAD_DREG, NFT_REG_1);
    batch.big32(NFTA_PAYLOAD_BASE, NFT_PAYLOAD_NETWORK_HEADER);
    batch.big32(NFTA_PAYLOAD_OFFSET, kDestination);
    batch.big32(NFTA_PAYLOAD_LEN, 1);
  });
  compare(batch, NFT_CMP_NEQ, std::array{kLoopback[0]});
  expression(batch, "meta", [&] {
    batch.big32(NFTA_META_DREG, NFT_REG_1);
    batch.big32(NFTA_META_KEY, NFT_META_L4PROTO);
  });
  compare(batch, how, std::array<std::uint8_t, 1>{IPPROTO_TCP});
}

constexpr std::string_view kTable = "egress";

constexpr void chain(NetlinkBatch& batch, std::string_view name, std::uint32_t hook, int priority) {
  batch.message(nft(NFT_MSG_NEWCHAIN), NLM_F_CREATE, [&] {
    nft_head(batch, NFPROTO_IPV4, 0);
    batch.text(NFTA_CHAIN_TABLE, kTable);
    batch.text(NFTA_CHAIN_NAME, name);
    batch.nested(NFTA_CHAIN_HOOK, [&] {
      batch.big32(NFTA_HOOK_HOOKNUM, hook);
      batch.big32(NFTA_HOOK_PRIORITY, static_cast<std::uint32_t>(priority));
    });
    batch.text(NFTA_CHAIN_TYPE, "filter");
  });
}

template <typename Fill>
constexpr void rule(NetlinkBatch& batch, std::string_view chain, std::uint16_t flags, Fill fill) {
  batch.message(nft(NFT_MSG_NEWRULE), NLM_F_CREATE | NLM_F_APPEND | flags, [&] {
    nft_head(batch, NFPROTO_IPV4, 0);
    batch.text(NFTA_RULE_TABLE, kTable);
    batch.text(NFTA_RULE_CHAIN, chain);
    batch.nested(NFTA_RULE_EXPRESSIONS, fill);
  });
}

// table ip egress {
//   chain in  { type filter hook prerouting priority -150;
//               ip daddr != 127.0.0.0/8 meta l4proto tcp tproxy to 127.0.0.1:PORT }
//   chain out { type filter hook output priority 0;
//               ip daddr != 127.0.0.0/8 meta l4proto != tcp drop }
// }
//
// No state is kept for a connection (no conntrack), so there is no memory that is charged to
// nobody. What is not TCP fails at once (EPERM).
constexpr NetlinkBatch redirection(std::uint16_t port) {
  constexpr int kMangle = -150;
  NetlinkBatch batch;
  batch.message(NFNL_MSG_BATCH_BEGIN, 0, [&] { nft_head(batch, AF_UNSPEC, NFNL_SUBSYS_NFTABLES); });
  batch.message(nft(NFT_MSG_NEWTABLE), NLM_F_CREATE, [&] {
    nft_head(batch, NFPROTO_IPV4, 0);
    batch.text(NFTA_TABLE_NAME, kTable);
  });
  chain(batch, "in", NF_INET_PRE_ROUTING, kMangle);
  chain(batch, "out", NF_INET_LOCAL_OUT, 0);
  rule(batch, "in", 0, [&] {
    match(batch, NFT_CMP_EQ);
    load(batch, NFT_REG_1, kLoopback);
    load(batch, NFT_REG_2,
         std::array{static_cast<std::uint8_t>(port >> 8U), static_cast<std::uint8_t>(port)});
    expression(batch, "tproxy", [&] {
      batch.big32(NFTA_TPROXY_FAMILY, NFPROTO_IPV4);
      batch.big32(NFTA_TPROXY_REG_ADDR, NFT_REG_1);
      batch.big32(NFTA_TPROXY_REG_PORT, NFT_REG_2);
    });
  });
  // The last message reports that all is done; one that fails reports itself.
  rule(batch, "out", NLM_F_ACK, [&] {
    match(batch, NFT_CMP_NEQ);
    expression(batch, "immediate", [&] {
      batch.big32(NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
      batch.nested(NFTA_IMMEDIATE_DATA, [&] {
        batch.nested(NFTA_DATA_VERDICT, [&] { batch.big32(NFTA_VERDICT_CODE, NF_DROP); });
      });
    });
  });
  batch.message(NFNL_MSG_BATCH_END, 0, [&] { nft_head(batch, AF_UNSPEC, NFNL_SUBSYS_NFTABLES); });
  return batch;
}

// Zero or a negative errno.
long tell(int protocol, const NetlinkBatch& batch) noexcept {
  const long netlink = open_netlink(protocol);
  if (netlink < 0) {
    return netlink;
  }
  const long result = tell_kernel(netlink, batch);
  (void)raw(SYS_close, netlink);
  return result;
}

long bound_socket(int type, std::uint16_t port, bool transparent) noexcept {
  const long socket = raw(SYS_socket, AF_INET, type | SOCK_CLOEXEC, 0);
  if (socket < 0) {
    return socket;
  }
  const int on = 1;
  if (transparent) {
    if (const long r = raw(SYS_setsockopt, socket, IPPROTO_IP, IP_TRANSPARENT, &on, sizeof on);
        r < 0) {
      return r;
    }
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = __builtin_bswap16(port);
  address.sin_addr.s_addr = __builtin_bswap32(INADDR_LOOPBACK);
  const long r = raw(SYS_bind, socket, &address, sizeof address);
  return r < 0 ? r : socket;
}

}  // namespace

WayOut make_way_out(std::uint16_t port) noexcept {
  constexpr int kBacklog = 128;
  constexpr std::uint16_t kNamePort = 53;
  WayOut out;
  const bool all =
      tell(NETLINK_NETFILTER, redirection(port)) == 0 && tell(NETLINK_ROUTE, kRoute) == 0;
  out.listener = bound_socket(SOCK_STREAM, port, all);
  if (out.listener >= 0) {
    if (const long r = raw(SYS_listen, out.listener, kBacklog); r < 0) {
      out.listener = r;
    }
  }
  out.names = bound_socket(SOCK_DGRAM, kNamePort, false);
  return out;
}

long raise_loopback() noexcept {
  const long socket = raw(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) {
    return socket;
  }
  ifreq request{};
  request.ifr_name[0] = 'l';
  request.ifr_name[1] = 'o';
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  if (const long r = raw(SYS_ioctl, socket, SIOCSIFFLAGS, &request); r < 0) {
    (void)raw(SYS_close, socket);
    return r;
  }
  return socket;
}

long hand_out(const WayOut& out, int to) noexcept {
  if (out.listener < 0 || out.names < 0) {
    return out.listener < 0 ? out.listener : out.names;
  }
  const std::array<int, 2> sockets = {static_cast<int>(out.listener), static_cast<int>(out.names)};
  return hand_out(to, sockets);
}

long provide_way_out(std::uint16_t port, int to) noexcept {
  const long socket = raise_loopback();
  if (socket < 0) {
    return socket;
  }
  (void)raw(SYS_close, socket);
  return hand_out(make_way_out(port), to);
}

}  // namespace glovebox::child
