export default function Page() {
  return <h1>About this shop</h1>;
}
