export function RunScreen() {
  return <main className="work run" id="work" />;
}
