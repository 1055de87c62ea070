import { describe, expect, test } from "vitest";
import { findBindTrouble } from "../../../../src/control/route-planner/bind-check.ts";
import { isInBlock, parseIpAddress, parseIpBlock } from "../../../../src/lib/ip-block.ts";
import { repeatableRandom } from "../../../support/planner-builders.ts";

const random = repeatableRandom(1);

function refusing(code: string, platform: NodeJS.Platform = "linux") {
  return { random, platform, tryAddress: () => Promise.resolve(code) };
}

describe("whether blocks can be sent from", () => {
  test("addresses of this machine need no advice", async () => {
    expect(await findBindTrouble(["127.0.0.1"], { random })).toBeUndefined();
  });

  test("an address of each block is tried, up to 64", async () => {
    const blocks = Array.from({ length: 70 }, (_, index) => `10.${index}.0.0/16`);
    const tried: string[] = [];
    const tryAddress = async (address: string) => void tried.push(address);
    expect(await findBindTrouble(blocks, { random, tryAddress })).toBeUndefined();
    expect(tried).toHaveLength(64);
    for (const [index, address] of tried.entries()) {
      const [block, parsed] = [parseIpBlock(blocks[index] ?? ""), parseIpAddress(address)];
      expect(block && parsed && isInBlock(parsed, block), address).toBe(true);
    }
  });

  test("the advice for Linux names the route, and the switch that IPv6 needs in addition", async () => {
    const trouble = await findBindTrouble(["192.0.2.77/24"], refusing("EADDRNOTAVAIL"));
    expect(trouble?.found).toMatch(
      /^192\.0\.2\.77\/24 cannot be sent from: binding 192\.0\.2\.\d+ failed \(EADDRNOTAVAIL\)$/,
    );
    expect(trouble?.advice).toContain('run "ip route add local 192.0.2.0/24 dev lo"');
    expect(trouble?.advice).not.toContain("sysctl");
    const ofIpv6 = await findBindTrouble(["2001:db8::/48"], refusing("EADDRNOTAVAIL"));
    expect(ofIpv6?.advice).toContain(
      '"ip route add local 2001:db8::/48 dev lo" and "sysctl -w net.ipv6.ip_nonlocal_bind=1"',
    );
  });

  test("the advice for other systems says that addresses have to be assigned", async () => {
    for (const platform of ["darwin", "win32"] as const) {
      const trouble = await findBindTrouble(["192.0.2.0/24"], refusing("EADDRNOTAVAIL", platform));
      expect(trouble?.advice).toContain("to this machine");
    }
  });

  test("the advice for a machine without IPv6 says so, and several blocks are reported together", async () => {
    const trouble = await findBindTrouble(["2001:db8::/64", "2001:db9::/64"], refusing("EAFNOSUPPORT"));
    expect(trouble?.found).toMatch(/^2 of 2 blocks, such as 2001:db8::\/64, cannot be sent from/);
    expect(trouble?.advice).toContain("no IPv6");
  });
});
