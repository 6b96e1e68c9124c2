import { KefuChat } from "kefu-chat/react";
import Link from "next/link";
import type { ReactNode } from "react";

const SERVICE = process.env.NEXT_PUBLIC_CHAT_URL ?? "http://localhost:8000/api/chat";

export const metadata = { title: "A shop with Next.js", icons: "data:," };

export default function Layout({ children }: { children: ReactNode }) {
  return (
    <html lang="en">
      <body>
        <nav>
          <Link href="/">Shop</Link> <Link href="/about">About</Link>
        </nav>
        <main>{children}</main>
        <KefuChat apiUrl={SERVICE} context="page" />
      </body>
    </html>
  );
}
