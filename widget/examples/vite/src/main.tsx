import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Shop } from "./shop.tsx";

const app = document.getElementById("app");
if (app) {
  createRoot(app).render(
    <StrictMode>
      <Shop />
    </StrictMode>,
  );
}
