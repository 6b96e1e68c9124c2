// The page with the widget for the iframes of the playground and the gallery. Its query string has
// the widget's settings by name, and `scene` for a state of the gallery.

const SETTINGS = [
  "title",
  "greeting",
  "suggestions",
  "accent",
  "logo",
  "theme",
  "lang",
  "position",
  "persist",
  "consent",
  "open",
];

const parameters = new URLSearchParams(location.search);
const root = document.documentElement;

const script = document.createElement("script");
script.src = "/chat-widget.js";
script.dataset.apiUrl = "/api/chat";
for (const name of SETTINGS) {
  const value = parameters.get(name);
  if (value) script.dataset[name] = value;
}
if (parameters.get("theme")) root.dataset.theme = parameters.get("theme");

if (parameters.has("scene")) {
  // A source tree has the gallery and its scenes; the packages have neither.
  const { SCENES } = await import("/scenes.js");
  await SCENES[parameters.get("scene")](script, parameters.get("lang") ?? "en");
  root.dataset.scene = "ready";
} else {
  document.head.append(script);
}
