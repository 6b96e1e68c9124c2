/** The user whom a token of the site names. */

import { expect, test } from "vitest";
import { identityOf, NOBODY } from "../../src/open/identity.ts";
import { tokenOf } from "../user-token.ts";

test("identity: without a token no user is signed in, without expiry (T16)", () => {
  expect(identityOf(undefined)).toEqual(NOBODY);
  expect(Date.now() < NOBODY.expiresAt).toBe(true);
});

for (const user of ["ann", "用户-1", "a👩b", "?>~ÿ", '"quoted"', " "]) {
  test(`identity: ${JSON.stringify(user)} is read from the base64url of a token, with its expiry (T16)`, () => {
    expect(identityOf(tokenOf(user, 2_000_000_000))).toEqual({
      user,
      expiresAt: 2_000_000_000_000,
    });
  });
}

const encoded = (claims: string): string => `e30.${Buffer.from(claims).toString("base64url")}.sig`;

for (const token of [
  "no token",
  "e30.e30.",
  "e30.%.x",
  encoded("no JSON"),
  encoded("null"),
  encoded("[]"),
  encoded('{"sub":"ann"}'),
  encoded('{"sub":7,"exp":2000000000}'),
  encoded('{"sub":"ann","exp":"2000000000"}'),
  encoded('{"__proto__":{"sub":"ann","exp":2000000000}}'),
]) {
  test(`identity: ${token.slice(0, 40)} names no user, counts as expired, and equals no other (T16)`, () => {
    const { user, expiresAt } = identityOf(token);
    expect(expiresAt).toBe(0);
    expect([undefined, "ann", 7]).not.toContain(user);
    expect(identityOf(token)).toEqual({ user, expiresAt });
  });
}
