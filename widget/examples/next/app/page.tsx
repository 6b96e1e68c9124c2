import { Ask } from "./ask.tsx";

export default function Page() {
  return (
    <>
      <h1>Boots</h1>
      <Ask question="How long does delivery take?" />
    </>
  );
}
