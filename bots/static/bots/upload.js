// The upload page: take a dropped file, and hide the new bot's name while one of mine is chosen.
const form = document.querySelector("[data-upload]");
const drop = form.querySelector("[data-drop]");
const file = form.elements.file;
const bot = form.elements.bot;
const nameField = form.elements.name.closest(".field");

const showName = () => { nameField.hidden = bot.value !== ""; };
bot.addEventListener("change", showName);
showName();

const isFile = (event) => event.dataTransfer?.types.includes("Files");
drop.querySelector("[data-drop-hint]").hidden = false;
drop.addEventListener("dragover", (event) => {
  if (!isFile(event)) return;
  event.preventDefault();
  drop.classList.add("is-over");
});
drop.addEventListener("dragleave", () => drop.classList.remove("is-over"));
drop.addEventListener("drop", (event) => {
  if (!isFile(event)) return;
  event.preventDefault();
  drop.classList.remove("is-over");
  file.files = event.dataTransfer.files;
  file.focus();
});
